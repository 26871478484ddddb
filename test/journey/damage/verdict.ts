/**
 * The verdict on the start of the service on a damaged data folder.
 *
 * - `exact`: it starts, and the bill of every consumer equals its calls, by the hour and by line items.
 * - `reported`: something is missing, and log, counter and risk stream report it.
 * - `refused`: it ends with exit code 2 and a sentence.
 *
 * Every other result is a defect of the service, and the verdict names it.
 */

import { request } from 'undici'
import { vi } from 'vitest'
import { createService, type Service } from '../service.ts'
import { API, type BaseFolder } from './base-folder.ts'

export type Verdict =
  | { readonly is: 'exact' | 'reported' | 'refused'; readonly note: string }
  | { readonly is: 'fault'; readonly note: string }

const EVER = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'
const READY_MS_MAX = 90_000

export async function judge(base: BaseFolder, dataDir: string): Promise<Verdict> {
  const service = await createService({
    args: ['--empty'],
    env: { GATEWAY_THREADS: String(base.threads), LOG_LEVEL: 'warn' },
    dataDir,
  })
  try {
    const refusal = await start(service)
    if (refusal !== null) return refusal
    return await judgeRunning(base, service)
  } catch (cause) {
    return fault(`the service answers, but not with its bill: ${text(cause)}`, service)
  } finally {
    await service.remove()
  }
}

/** Returns null if the service has started. */
async function start(service: Service): Promise<Verdict | null> {
  let onSlow: NodeJS.Timeout | undefined
  const slow = new Promise<'slow'>((resolve) => (onSlow = setTimeout(resolve, READY_MS_MAX, 'slow')))
  try {
    const result = await Promise.race([service.start(), slow])
    return result === 'slow' ? fault('it was not ready in time', service) : null
  } catch {
    const code = await service.stop()
    const said = service.errors()
    const sentence = said.split('\n').find((line) => line.startsWith('tollgate: '))
    if (code === 2 && sentence !== undefined) return { is: 'refused', note: sentence }
    return fault(`it ended with ${code} and no sentence`, service)
  } finally {
    clearTimeout(onSlow)
  }
}

async function judgeRunning(base: BaseFolder, service: Service): Promise<Verdict> {
  if ((await call(service, base.revokedKey)) === 200) {
    const unsaid = await whatIsUnsaid(service)
    if (unsaid.length > 0) return fault(`a revoked key opens the API again, without ${unsaid.join(' and ')}`, service)
    return { is: 'reported', note: 'a revoked key opens the API again' }
  }
  // Records are billed in order, so the line of a new call shows that the replay is complete.
  const sentinelStatus = await call(service, base.sentinel.apiKey)
  if (sentinelStatus !== 200) return fault(`a good key is answered with ${sentinelStatus}`, service)
  let bill = new Map<string, number>()
  const isBilled = async (): Promise<boolean> => (bill = await readBill(service)).has(base.sentinel.consumer)
  if (!(await becomes(isBilled))) return fault('a call of now is not billed', service)
  const wrong: string[] = []
  const missing: string[] = []
  for (const [consumer, { sent, answered }] of base.truth) {
    const billed = bill.get(consumer) ?? 0
    if (billed > sent) wrong.push(`${consumer} is billed ${billed} of ${sent}`)
    if (billed < answered) missing.push(`${consumer} is billed ${billed} of ${answered}`)
  }
  for (const consumer of bill.keys()) {
    if (!base.truth.has(consumer) && consumer !== base.sentinel.consumer) wrong.push(`${consumer} never called`)
  }
  if (wrong.length > 0) return fault(wrong.join('; '), service)
  if (missing.length === 0) {
    const itemized = await readLineItems(service)
    const differing = [...bill].filter(([consumer, calls]) => itemized.get(consumer) !== calls)
    if (differing.length === 0) return { is: 'exact', note: '' }
    return fault(
      `line items do not add up to the bill of ${differing.map(([consumer]) => consumer).join(', ')}`,
      service,
    )
  }
  const unsaid = await whatIsUnsaid(service)
  if (unsaid.length > 0) return fault(`${missing.join('; ')}; without ${unsaid.join(' and ')}`, service)
  return { is: 'reported', note: missing.join('; ') }
}

async function call(service: Service, apiKey: string): Promise<number> {
  const { statusCode, body } = await request(`${service.gatewayUrl}/${API}/entries`, {
    headers: { 'x-api-key': apiKey },
  })
  await body.dump()
  return statusCode
}

interface Billed {
  readonly customer: string
  readonly calls: number
}

async function readBill(service: Service): Promise<Map<string, number>> {
  const path = `/v1/summaries?api=${API}&groupBy=customer&limit=500&${EVER}`
  return callsOf((await service.platform.get<{ items: readonly Billed[] }>(path)).items)
}

async function readLineItems(service: Service): Promise<Map<string, number>> {
  const items: Billed[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const path = `/v1?api=${API}&limit=500&${EVER}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const page: { items: readonly Billed[]; next: string | null } = await service.platform.get(path)
    items.push(...page.items)
    cursor = page.next
  }
  return callsOf(items)
}

function callsOf(billed: readonly Billed[]): Map<string, number> {
  const calls = new Map<string, number>()
  for (const each of billed) calls.set(each.customer, (calls.get(each.customer) ?? 0) + each.calls)
  return calls
}

/** Returns the places that should report the damage and do not. */
async function whatIsUnsaid(service: Service): Promise<string[]> {
  const unsaid: string[] = []
  const errors = service.errors().split('\n')
  if (!errors.some((line) => line.includes('"level":"error"') && line.includes('"records"'))) unsaid.push('a log line')
  const { body } = await request(`${service.baseUrl}/metrics`)
  if (!/^tollgate_events_total\{reason="records_damaged"\} [1-9]/m.test(await body.text())) unsaid.push('a counter')
  if (!(await becomes(() => hasRisk(service)))) unsaid.push('a risk')
  return unsaid
}

async function hasRisk(service: Service): Promise<boolean> {
  const { items } = await service.platform.get<{ items: readonly { type: string; severity: string }[] }>(
    '/v1/risks?limit=500',
  )
  return items.some(({ type, severity }) => type === 'RecordsDamaged' && severity === 'Critical')
}

/** Whether it becomes true in time. */
function becomes(isTrue: () => Promise<boolean>): Promise<boolean> {
  return vi.waitUntil(isTrue, { timeout: 60_000, interval: 50 }).catch(() => false)
}

function fault(what: string, service: Service): Verdict {
  return { is: 'fault', note: `${what}\n${service.errors().slice(-3_000)}` }
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
