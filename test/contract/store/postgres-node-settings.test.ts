// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../../src/foundation/runtime/clock.ts'
import type { NodeIdentity, Nodes } from '../../../src/storage/store/nodes.ts'
import type { PostgresOptions } from '../../../src/storage/store/postgres/open-postgres.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'

const server = usePostgres()

async function start(
  url: string,
  name: string,
  identity: Partial<NodeIdentity> = {},
  options: Partial<PostgresOptions> = {},
): Promise<Nodes> {
  const { nodes } = await openTestPostgres(url, options)
  await nodes.register({ ...NODE, incarnation: `i-${name}`, name, ...identity })
  return nodes
}

describe('what a node tells of itself', () => {
  it('stays with it when it is removed and returns, and changes with its restart', async () => {
    const url = await server.createDatabase()
    const [one, two] = [await start(url, 'a'), await start(url, 'b', { settings: { REQUEST_LOG: 'h2' } })]
    const told = async () => (await one.list()).map(({ name, settings }) => [name, settings['REQUEST_LOG']])
    expect(await told()).toEqual([
      ['a', 'h1'],
      ['b', 'h2'],
    ])
    await executeSql(url, `DELETE FROM node WHERE name = 'b'`)
    two.serve(1)
    await expect.poll(told, { timeout: 10_000 }).toContainEqual(['b', 'h2'])
    await two.leave()
    await start(url, 'b', { settings: {} })
    expect(await told()).toContainEqual(['b', undefined])
  })

  it('is unknown for the row of an earlier version', async () => {
    const url = await server.createDatabase()
    const one = await start(url, 'a')
    await executeSql(url, 'UPDATE node SET settings = NULL, clock_offset_ms = NULL')
    expect(await one.list()).toMatchObject([{ settings: {}, clockOffsetMs: 0 }])
  })

  it('is how far its clock is from that of PostgreSQL', async () => {
    const url = await server.createDatabase()
    const offsets: number[] = []
    const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 90_000 }
    const ahead = await start(url, 'a', {}, { clock, onClockOffset: (offsetMs) => offsets.push(offsetMs) })
    const right = await start(url, 'b')
    const listed = async () => (await right.list()).map(({ clockOffsetMs }) => Math.round(clockOffsetMs / 10_000))
    await expect.poll(listed, { timeout: 10_000 }).toEqual([9, 0])
    expect(Math.round(ahead.progress().clockOffsetMs / 10_000)).toBe(9)
    expect(Math.round(offsets[0]! / 10_000)).toBe(9)
  })
})
