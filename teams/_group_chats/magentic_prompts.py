"""Prompts of the orchestrator of a MagenticOneGroupChat."""

from __future__ import annotations

FACTS = """\
Here is a new request:

{task}

Before anybody starts to work, take stock. Write a fact sheet with these four headings and nothing \
else:

1. GIVEN: what the request (or the conversation before it) states as a fact. Keep names, numbers \
and wordings exactly.
2. TO LOOK UP: what has to be found, and where it is likely to be found.
3. TO WORK OUT: what has to be derived, computed or decided from other facts.
4. EDUCATED GUESSES: what you know or assume from experience, marked as uncertain.

Leave a section empty where nothing belongs in it. Do not plan yet."""

PLAN = """\
The request:

{task}

The fact sheet:

{facts}

The team:

{team}

Write a short plan, as a list, for how this team meets the request. Say who does what; not \
everybody is needed. Name only members of the team."""

LEDGER = """\
We are working on this request:

{task}

The team that works on it:

{team}

What we know and what we do not know yet:

{facts}

How we go about it:

{plan}"""

PROGRESS = """\
We are working on this request, and on whatever the user has added to it since:

{task}

The team:

{team}

Judge where we stand, by the conversation above:

- is_request_satisfied: is the whole request fulfilled? (not: is only a last step left)
- is_in_loop: are we repeating the same requests or answers? A loop may span several turns.
- is_progress_being_made: has the latest turn brought us further? False if we are stuck, or if \
something keeps us from going on, such as a file or a page that cannot be read.
- next_speaker: who should speak next? One of: {names}
- instruction_or_question: what should that member be told or asked? Write to them directly, with \
everything they need to know for it.

Give a short reason for each answer. Answer with one JSON object of exactly this form and with \
nothing else:

{{
  "is_request_satisfied": {{"reason": "...", "answer": true or false}},
  "is_in_loop": {{"reason": "...", "answer": true or false}},
  "is_progress_being_made": {{"reason": "...", "answer": true or false}},
  "next_speaker": {{"reason": "...", "answer": "..."}},
  "instruction_or_question": {{"reason": "...", "answer": "..."}}
}}"""

NEW_FACTS = """\
We do not get ahead with this request:

{task}

This is the fact sheet so far:

{facts}

Write it anew under the same headings, with all that the conversation has shown. Move what has \
been confirmed to the given facts, correct what turned out wrong, and add at least one new or \
better educated guess, with the reason for it."""

NEW_PLAN = """\
Our plan has not worked. The request:

{task}

The fact sheet, brought up to date:

{facts}

The plan that has not worked:

{plan}

The team:

{team}

Say in a few words what went wrong at the root of it. Then write a new plan, as a list, that \
avoids it. Name only members of the team."""

FINAL_ANSWER = """\
We are working on this request:

{task}

The work is over. The conversation above holds all that was found. Write the answer to the \
request, addressed to the user who made it: complete, without the history of how it came about. If \
something could not be found or done, say so."""
