/** Reads of the embedded engine run beside its inserts and beside one another, and end when their caller has gone. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drainPending } from 'chdb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders, type Readers } from '../../../src/storage/store/clickhouse/readers.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { item } from './usage-items.ts'

/** Takes longer than the time limit of a read. */
const ENDLESS = {
  query: 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = {x:UInt64}',
  params: { x: 1 },
}
/** The engine names it by the point at which it was ended; at the time limit it names that. */
const ENDED_BY_CALLER = /cancelled|killed/
const ONE = { query: 'SELECT {x:UInt8} AS one', params: { x: 1 } }

let folder: string
let connections: ClickHouse[]
let client: ClickHouse
let readers: Readers

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'readers-'))
  connections = Array.from({ length: 4 }, () => openClickHouse({ url: null, folder }))
  const [first, canceller, ...others] = connections as [ClickHouse, ClickHouse, ...ClickHouse[]]
  client = first
  readers = createReaders(others, { canceller })
  await migrate(client)
})
afterEach(async () => {
  await Promise.all(connections.map((each) => each.close()))
  // A read that was cancelled may not have ended, and the engine opens one folder at a time.
  await drainPending()
  rmSync(folder, { recursive: true, force: true })
})

async function isRunning(): Promise<boolean> {
  const query = `SELECT 1 FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers(1000000000000)%'`
  return (await (await client.query({ query, format: 'JSONEachRow' })).json<unknown>()).length > 0
}

/** Reads without an end; returns when the engine runs it. */
async function startEndless(signal: AbortSignal) {
  let isSettled = false
  const ended = readers.read('long', ENDLESS, signal).then(
    () => 'an answer',
    (error: Error) => {
      isSettled = true
      return String(error.cause)
    },
  )
  await expect.poll(isRunning).toBe(true)
  return { ended, isSettled: () => isSettled }
}

describe('a long read of the embedded engine', () => {
  it('delays neither inserts, nor the notes of a flush, nor the reads of another tenant', async () => {
    const leaving = new AbortController()
    const long = await startEndless(leaving.signal)
    const usage = createClickHouseUsageStore(client, { readers })
    await usage.insert('first', [item({ tenant: 'own' })])
    const query = 'SELECT count() AS found FROM flushes WHERE instance = {instance:String}'
    await client.query({ query, query_params: { instance: 'x' }, format: 'JSONEachRow' })
    expect(await readers.read('other', ONE)).toEqual([{ one: 1 }])
    expect(long.isSettled()).toBe(false)
    leaving.abort()
    await long.ended
  })

  it('ends when its caller has gone, and the next read of the tenant begins', async () => {
    const leaving = new AbortController()
    const long = await startEndless(leaving.signal)
    const next = readers.read('long', ONE)
    leaving.abort()
    expect(await long.ended).toMatch(ENDED_BY_CALLER)
    await expect.poll(isRunning).toBe(false)
    expect(await next).toEqual([{ one: 1 }])
  })

  it('that has not begun when its caller leaves never begins', async () => {
    const [leaving, other] = [new AbortController(), new AbortController()]
    const long = await startEndless(leaving.signal)
    const waiting = readers.read('long', ENDLESS, other.signal).catch((error: Error) => String(error.cause))
    other.abort()
    leaving.abort()
    expect(await long.ended).toMatch(ENDED_BY_CALLER)
    expect(await waiting).toMatch(/AbortError/)
    await expect.poll(isRunning).toBe(false)
  })
})

describe('a parameter of a statement', () => {
  it('arrives as it is, whatever it contains', async () => {
    const texts = [
      '',
      "'",
      '\\',
      "\\' OR 1 --",
      '\u0000\t\r\n',
      '{x:UInt8}',
      '`"',
      '😀é',
      '\\N',
      'NULL',
      'x'.repeat(300_000),
    ]
    const query = 'SELECT {all:Array(String)} AS every, {one:String} AS one, {none:Array(UInt32)} AS none'
    for (const one of texts) {
      const [row] = await readers.read<{ one: string }>('own', {
        query,
        params: { all: texts.slice(0, -1), one, none: [] },
      })
      expect(row).toEqual({ every: texts.slice(0, -1), one, none: [] })
    }
  })

  it('is exact for large numbers', async () => {
    const query = 'SELECT toString({a:UInt64}) AS a, toString({b:Int64}) AS b'
    const params = { a: 2n ** 64n - 1n, b: -(2n ** 63n) }
    expect(await readers.read('own', { query, params })).toEqual([
      { a: '18446744073709551615', b: '-9223372036854775808' },
    ])
  })
})
