/**
 * Data folders of a service that was killed under load, with the facts that a verdict needs.
 *
 * Three consumers call at different rates. The service is killed twice: the folder after the first kill is the old
 * copy of the one after the second. Between the two an API key is revoked, which an old registry would restore.
 */

import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { expect } from 'vitest'
import type { Random } from '../../random.ts'
import { ledgerDocument, type LedgerBackend } from '../ledger-backend.ts'
import { billOf } from '../load.ts'
import { createService, enrol, publish, type Enrolled, type Service } from '../service.ts'

export const API = 'ledger-v1'
/** Callers with their share of the load. */
const SHARES = { Ada: 6, Ben: 3, Cleo: 1 } as const
const CLIENTS = 8

export interface Tally {
  /** Calls that were sent: the upper bound of the bill. */
  sent: number
  /** Calls that were answered completely: the lower bound of the bill. */
  answered: number
}

export interface BaseFolder {
  readonly dataDir: string
  /** The same folder at an earlier time. */
  readonly oldDir: string
  readonly threads: number
  /** By consumer id. */
  readonly truth: ReadonlyMap<string, Tally>
  /** Has not called yet. */
  readonly sentinel: Enrolled
  readonly revokedKey: string
}

/** `isFlushed`: the store has calls of the time after the revocation. */
export async function makeBaseFolder(random: Random, backend: LedgerBackend, isFlushed = false): Promise<BaseFolder> {
  const threads = 1 + random.below(2)
  // A collector that refuses: the spool has traces beside its records.
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1' }
  const service = await createService({ args: ['--empty'], env: { GATEWAY_THREADS: String(threads), ...traces } })
  const oldDir = mkdtempSync(join(tmpdir(), 'tollgate-old-'))
  try {
    await service.start()
    await publish(service, API, ledgerDocument(), backend.url)
    const callers: (readonly [Enrolled, number])[] = []
    for (const [name, share] of Object.entries(SHARES)) callers.push([await enrol(service, API, { name }), share])
    const sentinel = await enrol(service, API, { name: 'Sentinel' })
    const revoked = await enrol(service, API, { name: 'Revoked' })
    const truth = new Map(callers.map(([{ consumer }]) => [consumer, { sent: 0, answered: 0 }]))

    await loadThenKill(service, callers, truth, 300 + random.below(2_000))
    cpSync(service.dataDir, oldDir, { recursive: true, preserveTimestamps: true })
    await service.start()
    await revokeKeys(service, revoked)
    if (isFlushed) await callUntilStored(service, callers, truth)
    await loadThenKill(service, callers, truth, 300 + random.below(4_000))
    return { dataDir: service.dataDir, oldDir, threads, truth, sentinel, revokedKey: revoked.apiKey }
  } catch (cause) {
    await service.remove()
    throw cause
  }
}

async function revokeKeys(service: Service, { subscription }: Enrolled): Promise<void> {
  const path = `/v1/subscriptions/${subscription}/credentials`
  const { items } = await service.platform.get<{ items: readonly { id: string }[] }>(path)
  for (const { id } of items) await service.platform.delete(`${path}/${id}`)
}

/** Calls until the store has a call that came after the revocation. */
async function callUntilStored(
  service: Service,
  callers: readonly (readonly [Enrolled, number])[],
  truth: ReadonlyMap<string, Tally>,
): Promise<void> {
  const [[caller]] = callers as readonly [readonly [Enrolled, number]]
  const tally = truth.get(caller.consumer)!
  const before = tally.sent
  await expect
    .poll(
      async () => {
        tally.sent++
        const { statusCode, body } = await request(`${service.gatewayUrl}/${API}/entries`, {
          headers: { 'x-api-key': caller.apiKey },
        })
        await body.dump()
        if (statusCode === 200) tally.answered++
        return (await billOf(service)).get(caller.consumer) ?? 0
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBeGreaterThan(before)
}

/** Calls until `calls` were answered, and kills the service under that load. */
async function loadThenKill(
  service: Service,
  callers: readonly (readonly [Enrolled, number])[],
  truth: ReadonlyMap<string, Tally>,
  calls: number,
): Promise<void> {
  const wheel = callers.flatMap(([caller, share]) => Array<Enrolled>(share).fill(caller))
  const agent = new Agent({ connections: CLIENTS, pipelining: 1 })
  let turn = 0
  let answered = 0
  let killed: Promise<void> | null = null

  async function client(): Promise<void> {
    while (killed === null) {
      const { consumer, apiKey } = wheel[turn++ % wheel.length]!
      const tally = truth.get(consumer)!
      tally.sent++
      try {
        const { statusCode, body } = await agent.request({
          origin: service.gatewayUrl,
          path: `/${API}/entries?n=${turn}`,
          method: 'GET',
          headers: { 'x-api-key': apiKey },
        })
        const text = await body.text()
        if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
      } catch (cause) {
        if (killed === null) throw cause
        return
      }
      tally.answered++
      answered++
      if (answered >= calls) killed ??= service.kill()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await killed
  await agent.destroy()
}
