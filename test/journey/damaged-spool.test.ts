/** The service on a spool that was damaged after a kill: it is ready, the bill is right, and missing calls are reported. */

import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const CONSUMERS = 3
const CALLS = 60

let service: Service
let backend: LedgerBackend
let callers: Enrolled[]
const answered = new Map<string, number>()

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  callers = []
  for (let number = 0; number < CONSUMERS; number++) {
    callers.push(await enrol(service, 'ledger-v1', { name: `Consumer ${number}` }))
  }
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

it('a service with a damaged spool reports exactly the calls that are missing, and bills every other call to its consumer', async () => {
  let lost: Lost | null = null
  while (lost === null) {
    await callAll()
    await service.kill()
    lost = damageUnbilled()
    if (lost === null) await service.start()
  }
  const inspected = spawnSync(process.execPath, [CLI, 'spool', 'inspect', service.dataDir], { encoding: 'utf8' })
  expect(inspected.status, inspected.stdout).toBe(1)
  expect(inspected.stdout).toContain(`${lost.records} records are missing`)

  await service.start()
  const { message, category, severity } = await riskOf('RecordsDamaged')
  expect({ category, severity }).toEqual({ category: 'Governance', severity: 'Critical' })
  expect(message).toMatch(new RegExp(`: ${lost.records} records? from between 20\\S+Z and 20\\S+Z \\(spool/gateway-0/`))
  expect(service.errors()).toMatch(/"level":"error".*"file":"spool\/gateway-0\/.*Call records are missing/)
  const { text } = await metrics()
  expect(text).toContain(`tollgate_records_damaged_total{number="exact"} ${lost.records}`)

  await service.stop()
  await service.start()
  const billed = await billedByConsumer()
  const expected = new Map(
    callers.map(({ consumer }) => [consumer, answered.get(consumer)! - (lost.of.get(consumer) ?? 0)]),
  )
  expect(billed).toEqual(expected)
  expect(service.errors()).not.toContain('Call records')
}, 180_000)

interface Lost {
  readonly records: number
  readonly of: ReadonlyMap<string, number>
}

/** Calls with all consumers alternately, so that every part of the segment has calls of each. */
async function callAll(): Promise<void> {
  for (let call = 0; call < CALLS; call++) {
    await Promise.all(
      callers.map(async ({ apiKey, consumer }) => {
        const response = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
        expect(response.status, await response.text()).toBe(200)
        answered.set(consumer, (answered.get(consumer) ?? 0) + 1)
      }),
    )
  }
}

/** Flips a bit in a batch that no flush contains. Returns null if no such batch is followed by another. */
function damageUnbilled(): Lost | null {
  const at = placeOfBill()
  if (at === null) return null
  const path = join(service.dataDir, 'spool', 'gateway-0', `${String(at.segment).padStart(10, '0')}.spool`)
  const bytes = readFileSync(path)
  const batches: { offset: number; records: number }[] = []
  const consumers: string[] = []
  for (let offset = 64; offset + 32 <= bytes.length; offset += bytes.readUInt32LE(offset + 4)) {
    const [records, definitionBytes] = [bytes.readUInt32LE(offset + 12), bytes.readUInt32LE(offset + 16)]
    const from = offset + 32 + records * 56
    if (definitionBytes > 0) {
      const definitions = JSON.parse(bytes.toString('utf8', from + 16, from + definitionBytes)) as {
        consumer: string
      }[]
      consumers.push(...definitions.map(({ consumer }) => consumer))
    } else if (offset >= at.offset) batches.push({ offset, records })
  }
  const chosen = batches.at(1)
  if (chosen === undefined || batches.length < 3) return null
  const of = new Map<string, number>()
  for (let index = 0; index < chosen.records; index++) {
    const consumer = consumers[bytes.readUInt32LE(chosen.offset + 32 + index * 56)]!
    of.set(consumer, (of.get(consumer) ?? 0) + 1)
  }
  bytes[chosen.offset + 50]! ^= 1
  writeFileSync(path, bytes)
  return { records: chosen.records, of }
}

function placeOfBill(): { segment: number; offset: number } | null {
  const database = new DatabaseSync(join(service.dataDir, 'checkpoint.db'))
  try {
    const state = (name: string): unknown => {
      const row = database.prepare('SELECT value FROM state WHERE name = ?').get(name) as { value: string } | undefined
      return row === undefined ? null : JSON.parse(row.value)
    }
    type Position = Record<string, { segment: number; offset: number } | undefined>
    const pending = state('pending') as { to: Position } | null
    return (pending?.to ?? (state('position') as Position | null))?.['gateway-0'] ?? null
  } finally {
    database.close()
  }
}

interface Risk {
  readonly type: string
  readonly message: string
  readonly category: string
  readonly severity: string
}

async function riskOf(type: string): Promise<Risk> {
  for (let attempt = 0; attempt < 20_000; attempt++) {
    const { items } = await service.platform.get<{ items: readonly Risk[] }>('/v1/risks')
    const risk = items.find((each) => each.type === type)
    if (risk !== undefined) return risk
  }
  throw new Error(`there is no risk ${type}\n${service.errors()}`)
}

async function metrics(): Promise<{ text: string }> {
  const response = await fetch(`${service.baseUrl}/metrics`)
  return { text: await response.text() }
}

async function billedByConsumer(): Promise<ReadonlyMap<string, number>> {
  const billed = new Map<string, number>()
  for (let cursor = ''; ;) {
    const page = await service.platform.get<{
      items: readonly { customer: string; calls: number }[]
      next: string | null
    }>(`/v1?api=ledger-v1&limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    for (const { customer, calls } of page.items) billed.set(customer, (billed.get(customer) ?? 0) + calls)
    if (page.next === null) return billed
    cursor = page.next
  }
}
