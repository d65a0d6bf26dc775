"""Invisible characters, and sequences that steer terminals."""

from __future__ import annotations

import re

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 17.0.
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that are drawn as nothing, as a range of a pattern."""

BLANK = "\u2800\u2d7f\ufff9-\ufffc\U00016fe4\U0001d159"
"""Drawn as nothing, too, although their properties say otherwise: a blank pattern of Braille, a
joiner of Tifinagh, marks of annotations and objects, a filler of Khitan, a head of no note."""

# String controls (DCS, SOS, OSC, PM, APC) with their payload, CSI sequences, other escapes, and
# then whatever control is left. A payload ends at any control: so matching is linear, and an
# unfinished string swallows no text.
CONTROLS = re.compile(
    r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x00-\x08\x0a-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[NOPX\[\]^_]"
    r"|\x1b[0-9=>c-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""Controls of terminals but for newline and tab."""

UNSEEN = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f{IGNORABLE}{BLANK}]+")
"""Characters that nobody sees and that end no line."""

SEQUENCES = re.compile(f"(?![\r\x0b\x0c\x85])(?:{CONTROLS.pattern})|{UNSEEN.pattern}")
"""The same, with the rest of the sequences that they begin."""
