import { describe, expect, it } from 'vitest'
import { followGrants, GRANT_KINDS } from '../../../../src/control/access/follow-grants.ts'
import type { Change } from '../../../../src/storage/store/registry.ts'
import { ACME, openTestCatalogue, publishApi, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

/** A second node, which follows the changes of the first one from now on. */
function follower({ registry }: TestCatalogue, node: TestCatalogue) {
  let changes: Change[] = []
  registry.watch(0, (change) => changes.push(change))
  changes = []
  return async (): Promise<void> => {
    for (const change of changes.splice(0))
      if (GRANT_KINDS.includes(change.document.kind)) await followGrants(node, change)
  }
}

async function subscribe(catalogue: TestCatalogue) {
  await publishApi(catalogue)
  const consumer = await catalogue.consumers.create(ACME, { name: 'Shop', kind: 'application' })
  const { id } = await catalogue.subscriptions.create(ACME, { consumer: consumer.id, api: 'orders-v1' })
  return { consumer: consumer.id, subscription: id, credentials: (await catalogue.credentials.read(ACME, id)).items }
}

describe('the grants of a node that follows', () => {
  it('are those of the node that changed them', async () => {
    const catalogue = openTestCatalogue()
    const { consumer, subscription, credentials } = await subscribe(catalogue)
    const node = catalogue.restart()
    const follow = follower(catalogue, node)
    const latest = ({ gateway }: TestCatalogue) => new Map(gateway.grants.map((grant) => [grant.credential, grant]))
    for (const command of [
      () => catalogue.subscriptions.suspend(ACME, subscription),
      () => catalogue.subscriptions.resume(ACME, subscription),
      () => catalogue.credentials.revoke(ACME, subscription, credentials[0]!.id),
      () => catalogue.consumers.disable(ACME, consumer),
      () => catalogue.subscriptions.cancel(ACME, subscription),
    ]) {
      await command()
      await follow()
      for (const [credential, grant] of latest(catalogue)) expect(latest(node).get(credential)).toEqual(grant)
    }
    expect([...latest(node).values()].some(({ valid }) => valid)).toBe(false)
  })

  it('refuse credentials and subscriptions that are gone, for good', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const node = catalogue.restart()
    const follow = follower(catalogue, node)
    const ids = [...credentials.map(({ id }) => ['credential', id] as const), ['subscription', subscription] as const]
    for (const [kind, id] of ids) {
      const { revision: expected } = (await catalogue.registry.get(kind as never, id))!
      await catalogue.registry.commit(ACME, 'test.remove', [{ kind, id, tenant: 'acme', expected, body: null }])
    }
    await follow()
    for (const [, id] of ids) {
      const grants = node.gateway.grants.filter(({ credential }) => credential === id)
      expect(grants.at(-1)).toMatchObject({ valid: false, active: false, version: Number.MAX_SAFE_INTEGER })
    }
  })
})
