/**
 * Reads an OpenSLA 1.0.0 declaration, YAML or JSON, and compiles it to a plan.
 *
 * What either the published text or its JSON schema allows is accepted. `quotas`, `resourceUnits` and
 * `price` are our extensions; the short forms `quotas.rateLimit: 5000rpm`, `quotas.spikeArrest:
 * 100tps` and `quotas.dailyQuota` are read as the same things. Whatever is wrong is told at once, with
 * pointers.
 */

import { parseDocument } from 'yaml'
import { toMicro } from '../domain/decimal.ts'
import { Problem } from '../domain/problem.ts'
import { compileLimits, type LimitPlans } from './limits.ts'
import { Faults, fieldsAt, isFields, pointerTo, textAt, wholeAt, type Fields } from './reader.ts'
import type { LimitPlan, QuotaPeriod, QuotaPlan, SlaPlan } from './sla-plan.ts'

export interface DeclaredApi {
  readonly technicalName: string
  readonly operationIds: readonly string[]
}

const BYTES_MAX = 1024 * 1024
const ALIASES_MAX = 100
const PERIODS: readonly QuotaPeriod[] = ['Daily', 'Monthly', 'Quarterly', 'Annual', 'PayAsYouGo']
const SHORT_RATES: Readonly<Record<string, number>> = {
  tps: 1_000,
  rps: 1_000,
  tpm: 60_000,
  rpm: 60_000,
  rph: 3_600_000,
}

/** Throws `Problem('specification_invalid')` with every fault found. */
export function parseDeclaration(bytes: Uint8Array, api: DeclaredApi): SlaPlan {
  const root = parse(bytes)
  const faults = new Faults()
  if (typeof root['opensla'] !== 'string' || !/^1\.\d+\.\d+$/.test(root['opensla'])) {
    faults.add('/opensla', 'Give the version of OpenSLA, 1.0.0.')
  }
  const info = fieldsAt(root['info'], '/info', faults) ?? {}
  const quotas = fieldsAt(root['quotas'], '/quotas', faults) ?? {}
  const declared = compileLimits(root['limits'], api.operationIds, faults)
  const plan: SlaPlan = {
    api: api.technicalName,
    variant: info['variant'] === undefined ? '' : (textAt(info['variant'], '/info/variant', faults) ?? ''),
    version: info['version'] === undefined ? '1.0.0' : (textAt(info['version'], '/info/version', faults) ?? ''),
    ...withShortForms(declared, quotas, faults),
    quota: readQuota(quotas, faults),
    alertShare: (quotas['alertThreshold'] === undefined ? 80 : readPercent(quotas['alertThreshold'], faults)) / 100,
    unitsMicro: readUnits(root['resourceUnits'], api.operationIds, faults),
    ...readPrice(root['price'], faults),
  }
  if (faults.all.length > 0) {
    throw new Problem('specification_invalid', 'The OpenSLA declaration cannot be used.', { errors: faults.all })
  }
  return plan
}

function parse(bytes: Uint8Array): Fields {
  if (bytes.length > BYTES_MAX) throw refusal('', `A declaration takes at most ${BYTES_MAX} bytes.`)
  const document = parseDocument(new TextDecoder().decode(bytes), { version: '1.2', uniqueKeys: true })
  const [error] = document.errors
  if (error !== undefined) throw refusal('', error.message.split('\n')[0] ?? 'It is not YAML.')
  const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX })
  if (!isFields(value)) throw refusal('', 'A declaration is an object.')
  return value
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('specification_invalid', 'The OpenSLA declaration does not parse.', {
    errors: [{ pointer, detail }],
  })
}

function withShortForms({ limits, byOperation }: LimitPlans, quotas: Fields, faults: Faults): LimitPlans {
  const added: LimitPlan[] = []
  for (const property of ['rateLimit', 'spikeArrest'] as const) {
    if (quotas[property] === undefined) continue
    const match = /^(\d{1,9})([a-z]{3})$/.exec(String(quotas[property]))
    const spanMs = SHORT_RATES[match?.[2] ?? '']
    if (match === null || spanMs === undefined) {
      faults.add(
        `/quotas/${property}`,
        `Give a rate such as 5000rpm; known are ${Object.keys(SHORT_RATES).join(', ')}.`,
      )
    } else {
      const rule = { kind: 'rate', value: Number(match[1]), spanMs } as const
      added.push({ name: property, key: `quotas/${property}`, rule, validity: [] })
    }
  }
  if (quotas['dailyQuota'] !== undefined) {
    const value = wholeAt(quotas['dailyQuota'], '/quotas/dailyQuota', faults)
    const rule = { kind: 'total', value: value ?? 0, window: 'day' } as const
    added.push({ name: 'dailyQuota', key: 'quotas/dailyQuota', rule, validity: [] })
  }
  const groups = added.map((_, index) => [limits.length + index])
  const extended = Object.entries(byOperation).map(([id, known]) => [id, [...known, ...groups]] as const)
  return { limits: [...limits, ...added], byOperation: Object.fromEntries(extended) }
}

function readQuota(quotas: Fields, faults: Faults): QuotaPlan | null {
  if (quotas['resourceUnits'] === undefined && quotas['period'] === undefined) return null
  const period = PERIODS.find((known) => known === quotas['period'])
  if (period === undefined) {
    faults.add('/quotas/period', `Give one of ${PERIODS.join(', ')}.`)
    return null
  }
  if (period === 'PayAsYouGo' && quotas['resourceUnits'] === undefined) return { period, unitsMicro: 0 }
  return { period, unitsMicro: readMicro(quotas['resourceUnits'], '/quotas/resourceUnits', faults) }
}

function readUnits(value: unknown, operationIds: readonly string[], faults: Faults): Readonly<Record<string, number>> {
  const fields = fieldsAt(value, '/resourceUnits', faults) ?? {}
  const units: Record<string, number> = {
    '*': fields['default'] === undefined ? 1_000_000 : readMicro(fields['default'], '/resourceUnits/default', faults),
  }
  const operations = fieldsAt(fields['operations'], '/resourceUnits/operations', faults) ?? {}
  for (const [id, cost] of Object.entries(operations)) {
    const pointer = pointerTo('/resourceUnits/operations', id)
    if (!operationIds.includes(id)) faults.add(pointer, `The API has no operation "${id.slice(0, 100)}".`)
    else units[id] = readMicro(cost, pointer, faults)
  }
  return units
}

function readPrice(value: unknown, faults: Faults): { currency: string; priceMicro: number } {
  const fields = fieldsAt(value, '/price', faults)
  if (fields === null) return { currency: '', priceMicro: 0 }
  const currency = String(fields['currency'])
  if (!/^[A-Z]{3}$/.test(currency)) faults.add('/price/currency', 'Give an ISO 4217 code, such as EUR.')
  return { currency, priceMicro: readMicro(fields['perUnit'], '/price/perUnit', faults) }
}

function readMicro(value: unknown, pointer: string, faults: Faults): number {
  const micro = typeof value === 'number' || typeof value === 'string' ? toMicro(String(value)) : null
  if (micro === null) faults.add(pointer, 'Give a decimal from 0 with at most 9 digits before and 6 behind the point.')
  return micro ?? 0
}

function readPercent(value: unknown, faults: Faults): number {
  if (typeof value === 'number' && value > 0 && value <= 100) return value
  faults.add('/quotas/alertThreshold', 'Give a percentage above 0 and up to 100.')
  return 100
}
