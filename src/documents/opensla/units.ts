/** Reads the cost of calls: resource units of operations, their quota and their price, in millionths. */

import { MICRO, toMicro } from '../../foundation/domain/decimal.ts'
import { fieldsAt, pointerTo, unknownOperation, type Faults, type Fields } from './reader.ts'
import { SHORT_FORMS } from './short-forms.ts'
import type { QuotaPeriod, QuotaPlan } from '../../boundary/plan/sla-plan.ts'

const PERIODS: readonly QuotaPeriod[] = ['Daily', 'Monthly', 'Quarterly', 'Annual', 'PayAsYouGo']

export function readQuota(quotas: Fields, faults: Faults): QuotaPlan | null {
  faults.warnOfOthers(quotas, ['period', 'resourceUnits', 'alertThreshold', ...SHORT_FORMS], '/quotas')
  const { period: name, resourceUnits } = quotas
  if (resourceUnits === undefined && name === undefined) return null
  const period = PERIODS.find((known) => known === name)
  if (period === undefined) {
    faults.add('/quotas/period', `Give one of ${PERIODS.join(', ')}.`)
    return null
  }
  if (period !== 'PayAsYouGo') return { period, unitsMicro: readMicro(resourceUnits, '/quotas/resourceUnits', faults) }
  if (resourceUnits !== undefined)
    faults.warn('/quotas/resourceUnits', 'This is ignored: the period PayAsYouGo has no quota.')
  return { period, unitsMicro: 0 }
}

/** operationId → cost; `'*'` for all others. */
export function readUnits(
  value: unknown,
  known: ReadonlySet<string>,
  faults: Faults,
): Readonly<Record<string, number>> {
  const fields = fieldsAt(value, '/resourceUnits', faults) ?? {}
  faults.warnOfOthers(fields, ['default', 'operations'], '/resourceUnits')
  const operations = fieldsAt(fields['operations'], '/resourceUnits/operations', faults) ?? {}
  const costs = Object.entries(operations).map(([id, cost]): [string, number] => {
    const pointer = pointerTo('/resourceUnits/operations', id)
    if (!known.has(id)) faults.add(pointer, unknownOperation(id, known))
    return [id, readMicro(cost, pointer, faults)]
  })
  const standard =
    fields['default'] === undefined ? MICRO : readMicro(fields['default'], '/resourceUnits/default', faults)
  return Object.fromEntries([...costs, ['*', standard]])
}

export function readPrice(value: unknown, faults: Faults): { currency: string; priceMicro: number } {
  const fields = fieldsAt(value, '/price', faults)
  if (fields === null) return { currency: '', priceMicro: 0 }
  faults.warnOfOthers(fields, ['currency', 'perUnit'], '/price')
  const { currency, perUnit } = fields
  const isCurrency = typeof currency === 'string' && /^[A-Z]{3}$/.test(currency)
  if (!isCurrency) faults.add('/price/currency', 'Give an ISO 4217 code, such as EUR.')
  return { currency: isCurrency ? currency : '', priceMicro: readMicro(perUnit, '/price/perUnit', faults) }
}

function readMicro(value: unknown, pointer: string, faults: Faults): number {
  const micro = typeof value === 'number' || typeof value === 'string' ? toMicro(String(value)) : null
  if (micro === null)
    faults.add(pointer, 'Give a decimal of 0 or more, with at most 9 digits before and 6 after the point.')
  return micro ?? 0
}
