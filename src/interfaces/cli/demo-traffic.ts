/**
 * A minute of typical traffic: two applications and an agent, with typical faults: a forged
 * token, an invalid payload, an agent beyond its scopes, a burst of payouts over its limit.
 *
 * Calls are sent at a steady pace, whether or not responses arrive. Calls that would exceed the concurrency
 * limit are skipped and counted.
 */

import { Agent, request, type Dispatcher } from 'undici'
import type { Enrolment } from './enrol.ts'
import { outcomeOf, type Outcome } from './demo-view.ts'

export interface TrafficOptions {
  readonly gatewayUrl: string
  readonly api: string
  readonly shop: Enrolment
  readonly treasury: Enrolment
  readonly agent: Enrolment
  readonly onOutcome: (outcome: Outcome) => void
}

export interface Traffic {
  /** Sends the calls that are due in tick `tick`; ticks are `TICK_MS` apart. */
  tick(tick: number): void
  leftOut(): number
  close(): Promise<void>
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly credential: { readonly authorization: string } | { readonly 'x-api-key': string }
  readonly body?: unknown
}

export const TICK_MS = 50

const IN_FLIGHT_MAX = 128
const TIMEOUT_MS = 10_000
const PAYMENTS_KNOWN_MAX = 100
const BURST_TICKS = 300
const BURST_CALLS = 40
const ACCOUNT = 'acc_9f3c21d08b7a4e55'
const IBAN = 'DE89370400440532013000'

export function createTraffic({ gatewayUrl, api, shop, treasury, agent, onOutcome }: TrafficOptions): Traffic {
  const dispatcher: Dispatcher = new Agent({
    connections: IN_FLIGHT_MAX,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
  const payments: string[] = []
  let inFlight = 0
  let leftOut = 0

  function send(call: Call): void {
    if (inFlight >= IN_FLIGHT_MAX) return void leftOut++
    inFlight++
    void answerOf(call)
      .then(outcomeOf, (): Outcome => 'failed')
      .then(onOutcome)
      .finally(() => inFlight--)
  }

  async function answerOf({ method, path, credential, body }: Call): Promise<number> {
    const response = await request(`${gatewayUrl}/${api}${path}`, {
      method,
      dispatcher,
      headers: { ...credential, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (path === '/payments' && response.statusCode === 201) {
      const { id } = (await response.body.json()) as { id: string }
      if (payments.push(id) > PAYMENTS_KNOWN_MAX) payments.shift()
    } else {
      await response.body.dump()
    }
    return response.statusCode
  }

  return {
    tick(tick) {
      for (const call of callsOf(tick, { shop, treasury, agent }, payments)) send(call)
    },
    leftOut: () => leftOut,
    close: () => dispatcher.destroy(),
  }
}

/** The calls of one tick; the same tick always sends the same calls. */
function callsOf(
  tick: number,
  { shop, treasury, agent }: Pick<TrafficOptions, 'shop' | 'treasury' | 'agent'>,
  payments: readonly string[],
): Call[] {
  const known = payments[tick % Math.max(1, payments.length)]
  const every = (ticks: number, offset = 0): boolean => tick % ticks === offset
  const calls: Call[] = []

  calls.push({ method: 'GET', path: '/accounts', credential: bearer(shop) })
  if (every(2)) calls.push({ method: 'POST', path: '/payments', credential: bearer(shop), body: payment('129.90') })
  if (known !== undefined) calls.push({ method: 'GET', path: `/payments/${known}`, credential: bearer(agent) })
  if (every(4)) calls.push({ method: 'GET', path: '/payments?limit=5', credential: { 'x-api-key': treasury.apiKey } })
  if (every(20)) calls.push({ method: 'GET', path: statementPath(), credential: bearer(treasury) })

  if (every(15, 7)) calls.push({ method: 'GET', path: '/accounts', credential: { authorization: forged(shop.token) } })
  if (every(25, 3)) calls.push({ method: 'POST', path: '/payments', credential: bearer(shop), body: payment(129.9) })
  if (every(30, 11)) calls.push({ method: 'POST', path: '/payments', credential: bearer(agent), body: payment('5.00') })
  if (every(BURST_TICKS, 100)) for (let call = 0; call < BURST_CALLS; call++) calls.push(payout(treasury))
  return calls
}

function bearer({ token }: Enrolment): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** Returns a token whose signature belongs to another text. */
function forged(token: string): string {
  return `Bearer ${token.slice(0, -6)}AAAAAA`
}

function payment(value: string | number): unknown {
  return { account: ACCOUNT, amount: { value, currency: 'EUR' }, method: { type: 'card', token: 'tok_5d1e7c90aa42' } }
}

function payout(by: Enrolment): Call {
  const body = { account: ACCOUNT, amount: { value: '250.00', currency: 'EUR' }, iban: IBAN }
  return { method: 'POST', path: '/payouts', credential: bearer(by), body }
}

function statementPath(): string {
  return `/accounts/${ACCOUNT}/statement?from=2026-01-01&to=2026-02-01`
}
