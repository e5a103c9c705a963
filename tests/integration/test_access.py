"""What we read from RBAC objects against what the apiserver's own authorizer says of the same accounts."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from controller.cache.policies.access import Access
from controller.core.scheduling_policies.rbac import ALL
from controller.kube.client import Client
from controller.kube.errors import NotFound
from tests.support.eventually import eventually
from tests.support.rbac_objects import (
    Json,
    a_binding,
    a_role,
    a_rule,
    account,
    group,
    may_use,
    path_of,
    user,
    watching,
)

pytestmark = pytest.mark.integration

ACCOUNTS = ("default", "builder", "me")
POLICIES = ("restricted", "privileged", "x")


class Rbac:
    """RBAC objects of one test, with names of its own, in two namespaces of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.id = f"t{secrets.token_hex(3)}"
        self.namespaces = (f"{self.id}-a", f"{self.id}-b")
        self._made: list[str] = []

    async def make(self, document: Json) -> str:
        """Create one; return its path."""
        path = path_of(document)
        await self.client.post(path, document)
        self._made.append(f"{path}/{document['metadata']['name']}")
        return self._made[-1]

    async def close(self) -> None:
        for path in self._made:
            try:
                await self.client.delete(path)
            except NotFound:
                continue
        for namespace in self.namespaces:
            await self.client.delete(f"/api/v1/namespaces/{namespace}")

    def full(self, name: str) -> str:
        return f"{self.id}-{name}"


@pytest.fixture
async def rbac(admin: Client) -> AsyncIterator[Rbac]:
    made = Rbac(admin)
    for namespace in made.namespaces:
        await admin.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    yield made
    await made.close()


@pytest.fixture
async def access(admin: Client) -> AsyncIterator[Access]:
    async with watching(admin) as access:
        yield access


def ours(access: Access, namespace: str, name: str, policy: str) -> bool:
    usable = access.usable(namespace, name)
    return usable is ALL or policy in usable


async def disagreements(rbac: Rbac, access: Access, accounts: tuple[str, ...] = ACCOUNTS) -> tuple[list[str], int]:
    """Who is judged otherwise by the apiserver, and how many of all it allows."""
    asked = [(space, name, policy) for space in rbac.namespaces for name in accounts for policy in POLICIES]
    theirs = await asyncio.gather(*(may_use(rbac.client, *one) for one in asked))
    differ = [f"{one}: {said}" for one, said in zip(asked, theirs, strict=True) if ours(access, *one) is not said]
    return differ, sum(theirs)


async def until_known(rbac: Rbac, access: Access) -> None:
    """Return when both know all that was written so far: each of the four kinds is watched in its order.

    The apiserver is asked about resources that no other rule is about.
    """
    space, probe = rbac.namespaces[0], f"probe-{secrets.token_hex(2)}"
    name = rbac.full(probe)
    resources = {"": f"wide-{probe}", space: f"own-{probe}"}
    for namespace, resource in resources.items():
        rules = a_rule(probe), a_rule(resources=[resource])
        await rbac.make(a_role(name, *rules, namespace=namespace))
        kind = "Role" if namespace else "ClusterRole"
        await rbac.make(a_binding(name, name, account(probe, space), namespace=namespace, kind=kind))

    async def known() -> bool:
        said = [await may_use(rbac.client, space, probe, "x", resource=one) for one in resources.values()]
        return all(said) and all((one, name) in access.roles and (one, name) in access.bindings for one in resources)

    await eventually(known, message="the roles and bindings are not known")


def some_rules(chance: random.Random) -> list[Json]:
    """Rules of which about half grant something."""
    use, ours, policies = ["use"], ["penstock.dev"], ["schedulingpolicies"]
    return [
        a_rule(
            *chance.sample((*POLICIES, "*"), chance.choice((0, 1, 1, 1, 2))),
            verbs=chance.choice((use, use, use, ["*"], ["get", "use"], ["get"])),
            apiGroups=chance.choice((ours, ours, ours, ["*"], ["apps", *ours], [""])),
            resources=chance.choice((policies, policies, policies, ["*"], ["pods", *policies], ["*/status"])),
        )
        for _ in range(chance.randint(0, 2))
    ]


def some_subjects(chance: random.Random, rbac: Rbac, namespace: str) -> list[Json]:
    here, there = rbac.namespaces
    one = chance.choice(ACCOUNTS)
    rare = (
        group("system:serviceaccounts"),
        group("system:authenticated"),
        group(f"system:serviceaccounts:{chance.choice(rbac.namespaces)}"),
    )
    subjects = [
        account(one, chance.choice((here, there))),
        account(one, here),
        account(one, "elsewhere"),
        # only a binding of a namespace may leave out the account's
        account(one) if namespace else account(one, there),
        user(f"system:serviceaccount:{chance.choice(rbac.namespaces)}:{one}"),
        user(one),
        user("system:serviceaccounts"),
        group(f"system:serviceaccount:{here}:{one}"),
        chance.choice(rare),
    ]
    return chance.sample(subjects, chance.randint(0, 3))


def some_objects(chance: random.Random, rbac: Rbac) -> list[Json]:
    spaces = ("", *rbac.namespaces)
    roles = [(rbac.full(f"r{number}"), space) for number in range(4) for space in spaces]
    objects = [a_role(name, *some_rules(chance), namespace=space) for name, space in roles if chance.random() < 0.8]
    for number in range(20):
        space = chance.choice(spaces)
        kind = chance.choice(("Role", "ClusterRole")) if space else "ClusterRole"
        role = rbac.full(f"r{chance.randrange(4)}")
        subjects = some_subjects(chance, rbac, space)
        objects.append(a_binding(rbac.full(f"b{number}"), role, *subjects, namespace=space, kind=kind))
    chance.shuffle(objects)
    return objects


@pytest.mark.parametrize("seed", range(6))
async def test_our_verdict_is_the_apiservers(rbac: Rbac, access: Access, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same set every time
    for document in some_objects(chance, rbac):
        await rbac.make(document)
    await until_known(rbac, access)
    differ, allowed = await disagreements(rbac, access)
    assert differ == []
    assert 0 < allowed < len(rbac.namespaces) * len(ACCOUNTS) * len(POLICIES), "the set says nothing"


async def test_an_account_without_a_namespace_is_of_the_bindings_own(rbac: Rbac, access: Access) -> None:
    here, there = rbac.namespaces
    await rbac.make(a_role(rbac.full("r"), a_rule("x")))
    await rbac.make(a_binding(rbac.full("b"), rbac.full("r"), account("me"), namespace=here))
    await until_known(rbac, access)
    assert [ours(access, space, "me", "x") for space in (here, there)] == [True, False]
    assert await disagreements(rbac, access) == ([], 1)


Change = Callable[[Rbac, str, str], Awaitable[object]]


async def without_rules(rbac: Rbac, role: str, _: str) -> None:
    await rbac.client.put(role, a_role(role.rsplit("/", 1)[1]))


async def without_subjects(rbac: Rbac, role: str, binding: str) -> None:
    await rbac.client.put(binding, a_binding(binding.rsplit("/", 1)[1], role.rsplit("/", 1)[1]))


async def without_role(rbac: Rbac, role: str, _: str) -> None:
    await rbac.client.delete(role)


async def without_binding(rbac: Rbac, _: str, binding: str) -> None:
    await rbac.client.delete(binding)


@pytest.mark.parametrize("change", [without_rules, without_subjects, without_role, without_binding])
async def test_a_right_that_is_taken_away_bites_within_ten_seconds(rbac: Rbac, access: Access, change: Change) -> None:
    role = await rbac.make(a_role(rbac.full("r"), a_rule("x")))
    binding = await rbac.make(a_binding(rbac.full("b"), rbac.full("r"), account("me", rbac.namespaces[0])))
    await until_known(rbac, access)
    assert ours(access, rbac.namespaces[0], "me", "x")
    await change(rbac, role, binding)
    await eventually(
        lambda: not ours(access, rbac.namespaces[0], "me", "x"), seconds=10, message="the right is still there"
    )


async def test_the_rules_that_a_cluster_role_aggregates_count(rbac: Rbac, access: Access) -> None:
    label = {rbac.full("part"): "yes"}
    whole = a_role(rbac.full("whole"))
    whole["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label}]}
    part = a_role(rbac.full("part"), a_rule("x"))
    part["metadata"]["labels"] = label
    await rbac.make(whole)
    await rbac.make(part)
    await rbac.make(a_binding(rbac.full("b"), rbac.full("whole"), account("me", rbac.namespaces[0])))
    await eventually(lambda: ours(access, rbac.namespaces[0], "me", "x"), message="the aggregated rules do not count")
