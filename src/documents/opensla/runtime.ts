/**
 * Reads the promises of the provider: `runtime` of OpenSLA 1.0.0, and the short form `guarantees`.
 *
 * `operationIds` and `validity` may be missing: the schema of OpenSLA requires them, but its own example omits them.
 */

import { fieldsAt, listAt, numberAt, operationsAt, textAt, type Faults, type Fields } from './reader.ts'
import type { LatencyPromise, RuntimePlan, ThroughputPromise } from '../../boundary/plan/sla-plan.ts'
import { readValidity } from './validity.ts'

const DEFINITIONS_MAX = 100
const KNOWN = ['name', 'operationIds', 'validity', 'availability', 'concurrency', 'throughput', '5xxResponsePercent']
const PERCENT = { above: 0, max: 100 } as const

export function readRuntime(value: unknown, known: ReadonlySet<string>, faults: Faults): readonly RuntimePlan[] {
  return listAt(value, '/runtime', faults, DEFINITIONS_MAX).flatMap((item, index) => {
    const pointer = `/runtime/${index}`
    const fields = fieldsAt(item, pointer, faults)
    if (fields === null) return []
    faults.warnOfOthers(fields, KNOWN, pointer)
    const name =
      fields['name'] === undefined ? `runtime ${index + 1}` : textAt(fields['name'], `${pointer}/name`, faults)
    return [
      {
        name: name ?? '',
        operationIds: operationsAt(fields['operationIds'], `${pointer}/operationIds`, known, faults),
        validity: readValidity(fields['validity'], `${pointer}/validity`, faults),
        availabilityPercent: numberAt(fields['availability'], `${pointer}/availability`, faults, PERCENT),
        concurrency: numberAt(fields['concurrency'], `${pointer}/concurrency`, faults, { from: 0 }),
        throughput: readThroughput(fields['throughput'], `${pointer}/throughput`, faults),
        errorPercentMax: numberAt(fields['5xxResponsePercent'], `${pointer}/5xxResponsePercent`, faults, {
          from: 0,
          max: 100,
        }),
      },
    ]
  })
}

function readThroughput(value: unknown, pointer: string, faults: Faults): readonly ThroughputPromise[] {
  return listAt(value, pointer, faults, DEFINITIONS_MAX).flatMap((item, index) => {
    const at = `${pointer}/${index}`
    const fields = fieldsAt(item, at, faults)
    if (fields === null) return []
    const rps = numberAt(fields['rps'], `${at}/rps`, faults, { above: 0 })
    return [{ rps, latency: readLatency(fields['latency'], `${at}/latency`, faults) }]
  })
}

function readLatency(value: unknown, pointer: string, faults: Faults): readonly LatencyPromise[] {
  return listAt(value, pointer, faults, DEFINITIONS_MAX).flatMap((item, index) => {
    const at = `${pointer}/${index}`
    const fields = fieldsAt(item, at, faults)
    if (fields === null) return []
    if (fields['percentile'] === undefined) faults.add(`${at}/percentile`, 'Give the percentile that is promised.')
    return [
      {
        percentile: numberAt(fields['percentile'], `${at}/percentile`, faults, PERCENT) ?? 100,
        maximumMs: numberAt(fields['maximum'], `${at}/maximum`, faults, { from: 0 }),
        meanMs: numberAt(fields['mean'], `${at}/mean`, faults, { from: 0 }),
      },
    ]
  })
}

/** `guarantees: {latency: {p95, p99}, availability}`: milliseconds and per cent, with or without their unit. */
export function readGuarantees(value: unknown, faults: Faults): readonly RuntimePlan[] {
  const fields = fieldsAt(value, '/guarantees', faults)
  if (fields === null) return []
  faults.warnOfOthers(fields, ['latency', 'availability'], '/guarantees')
  const latency = readPercentiles(fieldsAt(fields['latency'], '/guarantees/latency', faults) ?? {}, faults)
  return [
    {
      name: 'guarantees',
      operationIds: null,
      validity: [],
      availabilityPercent: numberAt(
        withoutUnit(fields['availability'], '%'),
        '/guarantees/availability',
        faults,
        PERCENT,
      ),
      concurrency: null,
      throughput: latency.length === 0 ? [] : [{ rps: null, latency }],
      errorPercentMax: null,
    },
  ]
}

function readPercentiles(fields: Fields, faults: Faults): readonly LatencyPromise[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const pointer = `/guarantees/latency/${key}`
    const percentile = /^p\d{1,2}(\.\d{1,3})?$/.test(key) ? Number(key.slice(1)) : 0
    if (percentile === 0) {
      faults.add(pointer, 'Give percentiles such as p95.')
      return []
    }
    const maximumMs = numberAt(withoutUnit(value, 'ms'), pointer, faults, { from: 0 })
    return [{ percentile, maximumMs, meanMs: null }]
  })
}

function withoutUnit(value: unknown, unit: string): unknown {
  return typeof value === 'string' && value.endsWith(unit) ? value.slice(0, -unit.length).trimEnd() : value
}
