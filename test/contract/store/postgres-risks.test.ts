// @module-tag postgres

import { describe, expect, it } from 'vitest'
import type { SavedEpisode } from '../../../src/storage/store/risk-checkpoint.ts'
import type { ClaimedPartition, PartitionChanges } from '../../../src/storage/store/shared-risks.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { executeSql } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { advanceAll, episode, NOTHING, openTwo, send, signal } from './shared-risks-helpers.ts'

const server = usePostgres()

const open = async () => openTwo(await server.createDatabase())

describe('signals in PostgreSQL', () => {
  it('are added with the position of their source, and read once', async () => {
    const { one, other } = await open()
    expect(await one.openSource('a', { a: { segment: 1, offset: 0 } })).toEqual({
      sequence: 0,
      position: { a: { segment: 1, offset: 0 } },
    })
    const signals = [signal(), signal({ operation: 'nul \0 and \ud800' })]
    expect(await send(one, 'a', signals)).toBe(true)
    expect(await other.openSource('a', {})).toEqual({ sequence: 1, position: { a: { segment: 1, offset: 5 } } })
    expect(await advanceAll(other, 'n')).toEqual(signals)
    expect(await advanceAll(one, 'm')).toEqual([])
  })

  it('are not added if the source is elsewhere by now', async () => {
    const { one } = await open()
    expect(await send(one, 'a', [signal()])).toBe(true)
    const late = { source: 'a', expected: 0, position: {}, signals: [signal()] }
    expect(await one.send(late)).toBe(false)
    expect((await one.openSource('a', {})).position).toEqual({ a: { segment: 1, offset: 5 } })
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })

  it('of one tenant are in one partition, and those of many tenants in all', async () => {
    const { one, url } = await open()
    const tenants = Array.from({ length: 40 }, (_, index) => `tenant ${index % 20}`)
    await send(
      one,
      'a',
      tenants.map((tenant) => signal({ tenant })),
    )
    const { rows } = await executeSql(url, `SELECT partition, body::json ->> 'tenant' AS tenant FROM risk_signal`)
    expect(new Set(rows.map(({ partition }) => partition)).size).toBe(4)
    expect(new Set(rows.map(({ partition, tenant }) => `${String(partition)} ${String(tenant)}`)).size).toBe(20)
  })

  it('are taken a thousand at a time', async () => {
    const { one } = await open()
    await send(
      one,
      'a',
      Array.from({ length: 2_500 }, () => signal()),
    )
    const sizes: number[] = []
    await advanceAll(one, 'n', ({ signals }) => {
      if (signals.length > 0) sizes.push(signals.length)
      return NOTHING
    })
    expect(sizes).toEqual([1_000, 1_000, 500])
  })

  it('wait if the server stops, and are sent to it afterwards', async () => {
    const { one } = await open()
    await send(one, 'a', [])
    await server.stop('SIGINT')
    await expect(one.openSource('a', {})).rejects.toBeInstanceOf(StoreUnwritable)
    await server.start()
    expect(await send(one, 'a', [signal()])).toBe(true)
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })
})

describe('a partition in PostgreSQL', () => {
  it('is advanced by one node at a time', async () => {
    const { one, other } = await open()
    let isWithin = false
    let taken = 0
    const advance = async ({ signals }: ClaimedPartition): Promise<PartitionChanges> => {
      if (signals.length === 0) return NOTHING
      expect(isWithin).toBe(false)
      isWithin = true
      taken += signals.length
      await new Promise((resolve) => setImmediate(resolve))
      isWithin = false
      return NOTHING
    }
    const signals = Array.from({ length: 3_000 }, () => signal())
    await send(one, 'a', signals)
    const work = Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? one : other).advance('same', advance))
    await Promise.all(work)
    taken += (await advanceAll(one, 'same')).length
    expect(taken).toBe(3_000)
  })

  it('keeps its signals and episodes if the change fails', async () => {
    const { one } = await open()
    await send(one, 'a', [signal()])
    const fails = (): PartitionChanges => {
      throw new Error('a fault')
    }
    await expect(advanceAll(one, 'n', (claimed) => (claimed.signals.length > 0 ? fails() : NOTHING))).rejects.toThrow(
      'a fault',
    )
    // The failure closes the connection. Until the server has noticed that, the partition is locked, and a claim skips it.
    await expect.poll(() => advanceAll(one, 'n')).toHaveLength(1)
  })

  it('has another version after each commit', async () => {
    const { one, url } = await open()
    const versions: string[] = []
    for (let round = 0; round < 3; round++) {
      await executeSql(url, `UPDATE risk_partition SET advanced_at = '-infinity' WHERE number = 0`)
      await executeSql(url, `UPDATE risk_partition SET advanced_at = 'infinity' WHERE number <> 0`)
      const committed = await one.advance('n', async ({ version }) => {
        versions.push(version)
        return NOTHING
      })
      versions.push(committed!.version)
    }
    expect(versions[2]).toBe(versions[1])
    expect(versions[4]).toBe(versions[3])
    expect(new Set(versions).size).toBe(4)
  })

  it('stays with the node that has it, until that node leaves or is silent', async () => {
    const { one, other, url } = await open()
    await advanceAll(one, 'n')
    await send(one, 'a', [signal()])
    expect(await advanceAll(other, 'm')).toEqual([])
    await one.leave('n')
    expect(await advanceAll(other, 'm')).toHaveLength(1)
    await send(one, 'a', [signal()])
    expect(await advanceAll(one, 'n')).toEqual([])
    await executeSql(url, `UPDATE risk_partition SET advanced_at = advanced_at - interval '3 seconds'`)
    expect(await advanceAll(one, 'n')).toHaveLength(1)
  })

  it('gives its open episodes to the next node', async () => {
    const { one, other } = await open()
    const [opened, cleared] = [episode(), episode({ state: 'cleared' })]
    await send(one, 'a', [signal()])
    await advanceAll(one, 'n', ({ signals }) =>
      signals.length === 0 ? NOTHING : { ...NOTHING, episodes: [opened, cleared] },
    )
    await one.leave('n')
    const found: SavedEpisode[] = []
    while (
      (await other.advance('m', async ({ openEpisodes }) => {
        found.push(...(await openEpisodes()))
        return NOTHING
      })) !== null
    );
    expect(found).toEqual([opened])
  })
})
