"""Labels stand for pastes; the same words, typed, do not."""

from adapters.terminal.folds import MOST_CHARACTERS, MOST_LINES, Folds, is_long, without_labels

LONG = "line\n" * 240


def test_what_is_long():
    assert is_long(LONG)
    assert not is_long("x\n" * (MOST_LINES - 1))
    assert is_long("x" * (MOST_CHARACTERS + 1))


def test_a_label_stands_for_its_paste_alone():
    folds = Folds()
    first, second, third = folds.fold(LONG), folds.fold(LONG), folds.fold("x" * 3500)
    shown = [label.replace("\u00a0", " ") for label in (first, second, third)]
    assert shown == [
        "[Pasted text #1: 240 lines]",
        "[Pasted text #2: 240 lines]",
        "[Pasted text #3: 3,500 characters]",
    ]
    draft = f"{shown[0]} a {first} b {second}"
    assert folds.whole(draft) == f"{shown[0]} a {LONG} b {LONG}"
    assert [draft[start:end] for start, end in folds.spans(draft)] == [first, second]
    assert folds.whole(without_labels(draft)) == draft.replace("\u00a0", " ")
    other = first.replace("#1", "#9")
    assert folds.whole(other) == other
    assert folds.text(folds.fold(first * 99)) == first * 99
