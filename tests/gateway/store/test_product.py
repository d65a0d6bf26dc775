"""One database, one product."""

import pytest

from gateway.store.product import OtherProduct, Product, load_product

A, B, BOTH = (
    frozenset(ids) for ids in (["slack: app A1"], ["slack: app A2"], ["slack: app A1", "x"])
)


@pytest.mark.parametrize(
    ("kept", "own", "whole"),
    [
        (Product(), Product(), Product()),
        (Product(), Product(ids=A), Product(ids=A)),
        (Product(), Product(name="a"), Product(name="a")),
        (Product(ids=A), Product(ids=A), Product(ids=A)),
        (Product(ids=A), Product(ids=BOTH), Product(ids=BOTH)),
        (Product(ids=BOTH), Product(ids=A), Product(ids=BOTH)),
        (Product(ids=A), Product(name="a", ids=A), Product(name="a", ids=A)),
        (Product(name="a", ids=A), Product(ids=A), Product(name="a", ids=A)),
        (Product(name="a", ids=A), Product(name="a", ids=B), Product(name="a", ids=A | B)),
        (Product(name="a", ids=A), Product(name="a"), Product(name="a", ids=A)),
    ],
)
def test_the_same_product_is_known_by_its_name_or_by_an_app(kept, own, whole):
    assert own.joined(kept, "here") == whole
    assert load_product(whole.dump()) == whole


@pytest.mark.parametrize(
    ("kept", "own"),
    [
        (Product(ids=A), Product(ids=B)),
        (Product(ids=A), Product()),
        (Product(ids=A), Product(name="b", ids=B)),
        (Product(name="a"), Product(ids=A)),
        (Product(name="a"), Product()),
        (Product(name="a", ids=A), Product(name="b", ids=A)),
        (Product(name="a", ids=A), Product(ids=B)),
    ],
)
def test_another_product_is_refused_with_the_way_out(kept, own):
    with pytest.raises(OtherProduct, match=r'schema = "second" in \[store\]') as error:
        own.joined(kept, "parley at db:5432")
    for each in (str(kept), str(own), "parley at db:5432"):
        assert each in str(error.value)
    assert error.value.exit_code == 2


def test_nothing_stored_is_nobodys():
    assert load_product("") == Product()
