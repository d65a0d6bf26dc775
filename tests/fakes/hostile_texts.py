"""Texts that are code for some library."""

RUN = "__import__('pathlib').Path('PWNED').touch()"
HOSTILE = [
    *(RUN, f"{{x.{RUN}}}", f"{{{{ {RUN} }}}}", f"${{{RUN}}}", f"<% {RUN} %>", f"@{{{RUN}}}"),
    *("$(touch PWNED)", "`touch PWNED`", "| touch PWNED", "-o PWNED", "file:PWNED"),
    *("!!python/object/apply:os.system ['touch PWNED']", "cos\nsystem\n(S'touch PWNED'\ntR."),
    *("<script>open('PWNED')</script>", "[@click=app.bell('PWNED')]x[/]", "<|endoftext|>"),
    *("'; DROP TABLE notes; --", 'x"} 1\nforged{a="', "(?{open('PWNED')})", "%(x)s %n {0!r}"),
]
"""They make a file PWNED where something runs them."""
