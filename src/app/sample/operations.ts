/**
 * The operations of the sample API, one entry each.
 *
 * The gateway forwards only valid calls, so nothing is validated again here. The operations check conditions that a schema cannot
 * express: whether the resource exists, and whether its state allows the command.
 */

import { SAMPLE_ACCOUNTS, type Ledger, type LedgerRefusal, type Money, type NewPayment } from './ledger.ts'
import { statementLines } from './statement.ts'

export interface SampleCall {
  /** Values for each `*` of the path, in order. */
  readonly ids: readonly string[]
  readonly query: URLSearchParams
  /** The JSON body; an empty object if the request has none. */
  readonly body: unknown
}

export interface SampleAnswer {
  readonly status: number
  readonly body?: unknown
  readonly location?: string
  /** Sent as CSV, line by line, instead of `body`. */
  readonly lines?: Iterable<string>
}

export interface SampleOperation {
  readonly method: string
  /** Path segments; `*` matches any segment. */
  readonly path: string
  readonly answer: (call: SampleCall) => SampleAnswer
}

const REFUSALS: Readonly<Record<LedgerRefusal, { status: number; title: string }>> = {
  not_found: { status: 404, title: 'There is no such resource' },
  state_conflict: { status: 409, title: 'The state of the resource does not allow this' },
}

export function sampleOperations(ledger: Ledger, nowMs: () => number): readonly SampleOperation[] {
  const status: SampleOperation = {
    method: 'GET',
    path: '/status',
    answer: () => ok({ status: 'ok', version: '1.4.0', time: new Date(nowMs()).toISOString() }),
  }
  return [status, ...paymentOperations(ledger), ...accountOperations(ledger), ...endpointOperations(ledger)]
}

function paymentOperations(ledger: Ledger): readonly SampleOperation[] {
  const { payments, refunds } = ledger
  return [
    {
      method: 'GET',
      path: '/payments',
      answer: ({ query }) => {
        const { items, next } = payments.page(limitOf(query), query.get('cursor') ?? undefined)
        const status = query.get('status')
        return ok({ items: status === null ? items : items.filter((payment) => payment.status === status), next })
      },
    },
    {
      method: 'POST',
      path: '/payments',
      answer: ({ body }) => created(ledger.pay(body as NewPayment), '/payments'),
    },
    { method: 'GET', path: '/payments/*', answer: ({ ids: [id = ''] }) => okOrNotFound(payments.get(id)) },
    {
      method: 'POST',
      path: '/payments/*/capture',
      answer: ({ ids: [id = ''], body }) => okOrRefused(ledger.capture(id, (body as { amount?: Money }).amount)),
    },
    {
      method: 'POST',
      path: '/payments/*/refunds',
      answer: ({ ids: [id = ''], body }) => {
        const { amount, reason } = body as { amount?: Money; reason: string }
        const refund = ledger.refund(id, amount, reason)
        return typeof refund === 'string' ? refuse(refund) : created(refund, '/refunds')
      },
    },
    { method: 'GET', path: '/refunds/*', answer: ({ ids: [id = ''] }) => okOrNotFound(refunds.get(id)) },
  ]
}

function accountOperations(ledger: Ledger): readonly SampleOperation[] {
  return [
    { method: 'GET', path: '/accounts', answer: () => ok({ items: SAMPLE_ACCOUNTS, next: null }) },
    { method: 'GET', path: '/accounts/*', answer: ({ ids: [id = ''] }) => okOrNotFound(accountOf(id)) },
    {
      method: 'GET',
      path: '/accounts/*/statement',
      answer: ({ ids: [id = ''], query }) => {
        if (accountOf(id) === undefined) return refuse('not_found')
        return { status: 200, lines: statementLines(id, query.get('from') ?? '', query.get('to') ?? '') }
      },
    },
    {
      method: 'POST',
      path: '/payouts',
      answer: ({ body }) => {
        const { account, amount } = body as { account: string; amount: Money }
        return { ...created(ledger.payOut(account, amount), '/payouts'), status: 202 }
      },
    },
    { method: 'GET', path: '/payouts/*', answer: ({ ids: [id = ''] }) => okOrNotFound(ledger.payouts.get(id)) },
  ]
}

function endpointOperations(ledger: Ledger): readonly SampleOperation[] {
  const { endpoints } = ledger
  return [
    {
      method: 'GET',
      path: '/notificationEndpoints',
      answer: ({ query }) => ok(endpoints.page(limitOf(query), query.get('cursor') ?? undefined)),
    },
    {
      method: 'POST',
      path: '/notificationEndpoints',
      answer: ({ body }) => {
        const { url, events } = body as { url: string; events: readonly string[] }
        return created(ledger.register(url, events), '/notificationEndpoints')
      },
    },
    {
      method: 'DELETE',
      path: '/notificationEndpoints/*',
      answer: ({ ids: [id = ''] }) => (endpoints.remove(id) ? { status: 204 } : refuse('not_found')),
    },
  ]
}

export function refuse(refusal: LedgerRefusal): SampleAnswer {
  return { status: REFUSALS[refusal].status, body: { type: 'about:blank', ...REFUSALS[refusal], code: refusal } }
}

function ok(body: unknown): SampleAnswer {
  return { status: 200, body }
}

function created(resource: { readonly id: string }, path: string): SampleAnswer {
  return { status: 201, body: resource, location: `${path}/${resource.id}` }
}

function okOrNotFound(resource: unknown): SampleAnswer {
  return resource === undefined ? refuse('not_found') : ok(resource)
}

function okOrRefused(result: object | LedgerRefusal): SampleAnswer {
  return typeof result === 'string' ? refuse(result) : ok(result)
}

function accountOf(id: string): unknown {
  return SAMPLE_ACCOUNTS.find((account) => account.id === id)
}

function limitOf(query: URLSearchParams): number {
  return Math.min(100, Math.max(1, Number(query.get('limit') ?? 20) || 20))
}
