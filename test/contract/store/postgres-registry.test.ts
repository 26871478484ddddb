// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import type { Registry } from '../../../src/storage/store/registry.ts'
import { openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { auditContract } from './registry-audit.contract.ts'
import { AUTHOR, THING, write, type OpenRegistry } from './registry-contract-helpers.ts'
import { registryLabelsContract } from './registry-labels.contract.ts'
import { registryPrefixContract } from './registry-prefix.contract.ts'
import { registryContract } from './registry.contract.ts'

const server = usePostgres()

async function open(url: string, clock = systemClock): Promise<Registry> {
  const { registry, close } = await openTestPostgres(url, { clock })
  return { ...registry, close }
}

async function fresh(): Promise<OpenRegistry> {
  const url = await server.createDatabase()
  return (clock) => open(url, clock)
}

registryContract('postgres', fresh)
auditContract('postgres', fresh)
registryLabelsContract('postgres', fresh)
registryPrefixContract('postgres', fresh)

describe('several nodes on one database', () => {
  it('start together on an empty database', async () => {
    const url = await server.createDatabase()
    const nodes = await Promise.all(Array.from({ length: 10 }, () => open(url)))
    await nodes[0]!.commit(AUTHOR, 'make', [write('a', 0, 1)])
    for (const node of nodes) expect(await node.get(THING, 'a')).toMatchObject({ revision: 1 })
  })

  it('accept one of the concurrent commits to a document, and see all changes in the same order', async () => {
    const url = await server.createDatabase()
    const nodes = await Promise.all(Array.from({ length: 3 }, () => open(url)))
    await nodes[0]!.commit(AUTHOR, 'make', [write('a', 0, 0)])
    const seen = nodes.map(() => [] as string[])
    const { promise: allSeen, resolve } = Promise.withResolvers<void>()
    for (const [index, node] of nodes.entries()) {
      node.watch(0, ({ position, document }) => {
        seen[index]!.push(`${position} ${document.id} ${document.revision}`)
        if (seen.every(({ length }) => length === CHANGES)) resolve()
      })
    }
    let winners = 0
    // The first commit; 20 winners with two documents each; 60 commits without a rival.
    const CHANGES = 1 + 40 + 60
    for (let revision = 1; revision <= 20; revision++) {
      const ends = await Promise.allSettled(
        nodes.map((node, index) =>
          node.commit(AUTHOR, 'change', [write('a', revision, index), write(`${revision}-${index}`, 0, 1)]),
        ),
      )
      winners += ends.filter(({ status }) => status === 'fulfilled').length
      const own = nodes.map((node, index) => node.commit(AUTHOR, 'make', [write(`own-${revision}-${index}`, 0, 1)]))
      await Promise.all(own)
    }
    expect(winners).toBe(20)
    await allSeen
    for (const each of seen) expect(each).toEqual(seen[0])
    expect(seen[0]!.map((line) => Number(line.split(' ')[0]))).toEqual(seen[0]!.map((_, index) => index + 1))
  })
})
