/** The callers that a canary serves, in words. */

import { texts } from '../../texts.ts'
import type { Proxy } from './proxy.ts'

type Canary = NonNullable<Proxy['canary']>
/** For whom a canary is activated. */
export type CanaryRule = Pick<Canary, 'percent' | 'consumers'>

const { facts, canary: words } = texts.apis

export function canaryText({ revision, percent, consumers = [] }: Canary): string {
  return percent === undefined ? facts.canaryOf(revision, consumers.length) : facts.canaryShare(revision, percent)
}

/** The rule of a request to the service. */
export function toRule({ percent, consumers = [] }: CanaryRule): CanaryRule {
  return percent === undefined ? { consumers } : { percent }
}

interface Change {
  readonly revision: number
  readonly active: number
  readonly rule: CanaryRule
  /** Names of the chosen consumers. */
  readonly names: readonly string[]
}

const NAMED_MAX = 5

/** Says which revision will serve whom after an activation; null if the rule is not complete. */
export function effectOf({ revision, active, rule: { percent, consumers = [] }, names }: Change): string | null {
  if (percent !== undefined)
    return Number.isInteger(percent) && percent >= 1 && percent <= 99
      ? words.shareEffect(revision, active, percent)
      : null
  if (consumers.length === 0) return null
  const listed = names.slice(0, NAMED_MAX)
  return words.consumersEffect(revision, active, words.names(listed, consumers.length - listed.length))
}
