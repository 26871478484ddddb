/** Connections that end in the middle of a message, that close one direction, or that are slow. */

// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { RegistryUnreachable } from '../../../src/storage/store/postgres/connection.ts'
import { RevisionConflict, type Registry } from '../../../src/storage/store/registry.ts'
import { openBehindProxy, type Direction, type FaultyProxy, type Verdict } from '../../fixtures/faulty-proxy.ts'
import { openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { AUTHOR, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

async function openBehind(): Promise<{ registry: Registry; proxy: FaultyProxy }> {
  const { proxy, url } = await openBehindProxy(await server.createDatabase())
  return { registry: (await openTestPostgres(url)).registry, proxy }
}

const commit = (registry: Registry): Promise<unknown> => registry.commit(AUTHOR, 'make', [write('a', 0, 1)])

/** Judges the end of the next transaction, or its answer, once. */
function judgeOnce(proxy: FaultyProxy, judged: Direction, verdict: Verdict): void {
  let isEnding = false
  proxy.judge((direction, data) => {
    if (direction === 'up' && data.includes('; COMMIT')) isEnding = true
    if (!isEnding || direction !== judged) return 'pass'
    proxy.judge(null)
    return verdict
  })
}

/** Within the type, the length and the text of a message; all messages concerned are longer. */
const SHARES = [1, 4, 5, 9]

describe('a commit', () => {
  it.each(SHARES)('of which %i bytes arrive is refused, had no effect, and can be repeated', async (cutAfterBytes) => {
    const { registry, proxy } = await openBehind()
    judgeOnce(proxy, 'up', { cutAfterBytes })
    await expect(commit(registry)).rejects.toBeInstanceOf(RegistryUnreachable)
    expect(await registry.get(THING, 'a')).toBeNull()
    await commit(registry)
    await expect(commit(registry)).rejects.toBeInstanceOf(RevisionConflict)
  })

  it.each(SHARES)('of whose answer %i bytes arrive resolves, and was executed once', async (cutAfterBytes) => {
    const { registry, proxy } = await openBehind()
    judgeOnce(proxy, 'down', { cutAfterBytes })
    await commit(registry)
    expect(await registry.get(THING, 'a')).toMatchObject({ revision: 1 })
    await expect(commit(registry)).rejects.toBeInstanceOf(RevisionConflict)
  })

  it.each(['up', 'down'] as const)(
    'after which the direction %s is closed resolves, and was executed once',
    async (direction) => {
      const { registry, proxy } = await openBehind()
      judgeOnce(proxy, direction, 'half-close')
      await commit(registry)
      // A read may meet the connection before its end is seen.
      await expect.poll(() => registry.get(THING, 'a')).toMatchObject({ revision: 1 })
      await expect(commit(registry)).rejects.toBeInstanceOf(RevisionConflict)
    },
  )

  it('on a connection whose messages are delayed resolves, and changes come in order', async () => {
    const { registry, proxy } = await openBehind()
    const seen: string[] = []
    registry.watch(0, ({ document }) => seen.push(document.id))
    let turn = 0
    proxy.judge(() => ({ delayMs: (turn++ % 3) * 20 }))
    for (const id of ['a', 'b', 'c']) await registry.commit(AUTHOR, 'make', [write(id, 0, 1)])
    await expect.poll(() => seen).toEqual(['a', 'b', 'c'])
  })
})
