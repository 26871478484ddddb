/**
 * Resources of the sample backend: accounts, payments, refunds, payouts and notification endpoints.
 *
 * A payment can be read, captured and refunded up to its amount. Each collection is bounded and evicts its oldest item first, so
 * that memory stays constant in a long demo. Amounts are computed in whole cents.
 */

import { createBoundedCollection } from './bounded-collection.ts'

export interface Money {
  readonly value: string
  readonly currency: string
}

export interface Payment {
  readonly id: string
  readonly account: string
  readonly amount: Money
  readonly refunded: Money
  readonly status: 'authorised' | 'captured' | 'refunded' | 'failed'
  readonly reference?: string
  readonly createdAt: string
}

export interface Refund {
  readonly id: string
  readonly payment: string
  readonly amount: Money
  readonly reason: string
  readonly status: 'pending' | 'done' | 'failed'
  readonly createdAt: string
}

export interface Payout {
  readonly id: string
  readonly account: string
  readonly amount: Money
  readonly status: 'pending' | 'sent' | 'returned'
  readonly createdAt: string
}

export interface NotificationEndpoint {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
}

export interface NewPayment {
  readonly account: string
  readonly amount: Money
  readonly reference?: string
  readonly capture?: boolean
}

export interface LedgerOptions {
  readonly nowMs: () => number
  /** Returns sixteen hexadecimal digits, different at each call. */
  readonly newHex: () => string
}

/** Reason for which a command was refused. */
export type LedgerRefusal = 'not_found' | 'state_conflict'

const ITEMS_MAX = 5_000

export const SAMPLE_ACCOUNTS = [
  { id: 'acc_9f3c21d08b7a4e55', name: 'Settlement', balance: { value: '48210.55', currency: 'EUR' } },
  { id: 'acc_1b7d90e2c4f63a08', name: 'Reserve', balance: { value: '12000.00', currency: 'EUR' } },
  { id: 'acc_77aa0c5e19d3b264', name: 'Sterling', balance: { value: '3310.20', currency: 'GBP' } },
] as const

export type Ledger = ReturnType<typeof createLedger>

export function createLedger({ nowMs, newHex }: LedgerOptions) {
  const payments = createBoundedCollection<Payment>(ITEMS_MAX)
  const refunds = createBoundedCollection<Refund>(ITEMS_MAX)
  const payouts = createBoundedCollection<Payout>(ITEMS_MAX)
  const endpoints = createBoundedCollection<NotificationEndpoint>(100)
  const createdAt = (): string => new Date(nowMs()).toISOString()

  return {
    payments,
    refunds,
    payouts,
    endpoints,

    pay({ account, amount, reference, capture = true }: NewPayment): Payment {
      return payments.put({
        id: `pay_${newHex()}`,
        account,
        amount,
        refunded: { value: '0.00', currency: amount.currency },
        status: capture ? 'captured' : 'authorised',
        ...(reference !== undefined && { reference }),
        createdAt: createdAt(),
      })
    },

    capture(id: string, part: Money | undefined): Payment | LedgerRefusal {
      const payment = payments.get(id)
      if (payment === undefined) return 'not_found'
      const amount = part ?? payment.amount
      if (payment.status !== 'authorised' || !isPartOf(amount, payment.amount)) return 'state_conflict'
      return payments.put({ ...payment, amount, status: 'captured' })
    },

    refund(id: string, part: Money | undefined, reason: string): Refund | LedgerRefusal {
      const payment = payments.get(id)
      if (payment === undefined) return 'not_found'
      const leftCents = toCents(payment.amount) - toCents(payment.refunded)
      const left = { value: fromCents(leftCents), currency: payment.amount.currency }
      const amount = part ?? left
      if (payment.status !== 'captured' || !isPartOf(amount, left)) return 'state_conflict'

      const refunded = { ...amount, value: fromCents(toCents(payment.refunded) + toCents(amount)) }
      payments.put({ ...payment, refunded, status: toCents(amount) === leftCents ? 'refunded' : 'captured' })
      return refunds.put({ id: `ref_${newHex()}`, payment: id, amount, reason, status: 'done', createdAt: createdAt() })
    },

    payOut(account: string, amount: Money): Payout {
      return payouts.put({ id: `pyo_${newHex()}`, account, amount, status: 'pending', createdAt: createdAt() })
    },

    register(url: string, events: readonly string[]): NotificationEndpoint {
      return endpoints.put({ id: `nep_${newHex()}`, url, events })
    },
  }
}

function isPartOf(part: Money, whole: Money): boolean {
  return part.currency === whole.currency && toCents(part) > 0 && toCents(part) <= toCents(whole)
}

/** Exact: amounts have at most eleven digits, far below 2^53. */
function toCents({ value }: Money): number {
  const [units = '0', cents = '00'] = value.split('.')
  return Number(units) * 100 + Number(cents)
}

function fromCents(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}
