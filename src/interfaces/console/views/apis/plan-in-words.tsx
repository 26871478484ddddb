/** The plan that a declaration compiles to, in sentences. */

import type { Answer } from '../../api/operations.ts'
import { texts } from '../../texts.ts'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { forThousandCalls } from './price.ts'

export type Plan = Answer<'/v1/openslaspecs/:id/plan'>
type Limit = Plan['limits'][number]
type Promised = Plan['promises'][number]

const words = texts.plan
const SPANS: ReadonlyMap<string, string> = new Map([
  ['1 s', words.spans.second],
  ['60 s', words.spans.minute],
  ['3600 s', words.spans.hour],
  ['86400 s', words.spans.day],
  ['604800 s', words.spans.week],
])

export function PlanInWords({ plan }: { readonly plan: Plan }) {
  const { limits, quota, resourceUnits, price, promises } = plan
  return (
    <div class="plan">
      <h3>{words.limits}</h3>
      {limits.length === 0 ? (
        <p>{words.noLimits}</p>
      ) : (
        <ul>
          {limits.map((limit, index) => (
            <li key={index}>{toLimit(limit)}</li>
          ))}
        </ul>
      )}
      <h3>{words.quota}</h3>
      <p>{toQuota(quota)}</p>
      <h3>{words.price}</h3>
      <p>{words.costOf(toNumber(resourceUnits.default), resourceUnits.default === 1)}</p>
      <Exceptions units={resourceUnits.operations} />
      <p>
        {price === null
          ? words.free
          : words.priceOf(
              toAmount(price.perUnit, price.currency),
              toAmount(forThousandCalls(price.perUnit, resourceUnits.default), price.currency),
            )}
      </p>
      <h3>{words.promises}</h3>
      {promises.length === 0 ? (
        <p>{words.noPromises}</p>
      ) : (
        <ul>
          {promises.flatMap(toPromises).map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Exceptions({ units }: { readonly units: Plan['resourceUnits']['operations'] }) {
  const entries = Object.entries(units)
  if (entries.length === 0) return null
  return (
    <ul>
      {entries.map(([operation, cost]) => (
        <li key={operation}>
          <bdi>{operation}</bdi>: {words.units(toNumber(cost), cost === 1)}
        </li>
      ))}
    </ul>
  )
}

function toLimit({ name, kind, value, per, operationIds, validity }: Limit) {
  const scope = operationIds === null ? '' : words.operations(operationIds.join(', '))
  return (
    <>
      {value === 0 ? words.off(nameOf(kind, per)) : sentenceOf(kind, toNumber(value), per)}
      {scope}
      {toTimes(validity)}{' '}
      <span class="quiet">
        (<bdi>{name}</bdi>)
      </span>
    </>
  )
}

function sentenceOf(kind: Limit['kind'], value: string, per: string | null): string {
  if (kind === 'concurrent') return words.concurrent(value)
  if (kind === 'rate') return words.rate(value, SPANS.get(per ?? '') ?? per ?? '')
  return per === 'period' ? words.inTimes(value) : words.total(value, per ?? '')
}

function nameOf(kind: Limit['kind'], per: string | null): string {
  if (kind === 'concurrent') return words.names.concurrent
  return kind === 'rate' ? words.names.rate : words.names.total(per ?? '')
}

function toTimes(validity: Limit['validity']): string {
  if (validity.length === 0) return ''
  return words.times(validity.map(({ start, end }) => words.span(short(start), short(end))).join(', '))
}

/** Without seconds that are 0. */
function short(time: string): string {
  return time.endsWith(':00') ? time.slice(0, 5) : time
}

function toQuota(quota: Plan['quota']): string {
  if (quota === null) return words.noQuota
  const { period, resourceUnits, alertPercent } = quota
  if (period === 'PayAsYouGo' || resourceUnits === null) return words.payAsYouGo
  return words.quotaOf(toNumber(resourceUnits), words.periods[period], toNumber(alertPercent))
}

function toPromises(promise: Promised): readonly string[] {
  const { operationIds, validity, availabilityPercent, errorPercentMax, concurrency, throughput } = promise
  const tail = (operationIds === null ? '' : words.operations(operationIds.join(', '))) + toTimes(validity)
  const found = [
    ...(availabilityPercent === null ? [] : [words.availability(String(availabilityPercent))]),
    ...(errorPercentMax === null ? [] : [words.errors(String(errorPercentMax))]),
    ...(concurrency === null ? [] : [words.capacity(toNumber(concurrency))]),
    ...throughput.flatMap(({ rps, latency }) => {
      const load = rps === null ? '' : words.upTo(toNumber(rps))
      return latency.flatMap(({ percentile, maximumMs, meanMs }) => [
        ...(maximumMs === null ? [] : [words.latency(String(percentile), toNumber(maximumMs)) + load]),
        ...(meanMs === null ? [] : [words.mean(toNumber(meanMs)) + load]),
      ])
    }),
  ]
  return found.map((text) => text + tail)
}
