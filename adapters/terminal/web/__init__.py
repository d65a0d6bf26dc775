"""`parley web`: the operator's own chat in a browser.

One process serves a page and a socket; each tab of a browser has a chat, in a process of its own
whose command line is always the same. A browser gets in by a link that works once. Textual-serve
starts the processes and brings the page's script; its page and its server are not used.
"""
