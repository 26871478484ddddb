/** A canary: a revision that serves a part of the callers of an API, while the active one serves the others. */

import type { Grant } from './grant.ts'

/** The callers that a canary serves. */
export type CanaryRule =
  /** A share of the subscriptions, 1 to 99. */
  { readonly percent: number } | { readonly consumers: readonly string[] }

/** A subscription of a caller. */
export type Subscriber = Pick<Grant, 'consumer' | 'subscription'>

const HASHES = 2 ** 32
const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * Returns a function that decides whether a canary serves a caller. By a share, the same subscriptions are chosen for all revisions
 * of the API, and a larger share only adds to them.
 */
export function createCanaryMatch(api: string, rule: CanaryRule): (subscriber: Subscriber) => boolean {
  if ('consumers' in rule) {
    const consumers = new Set(rule.consumers)
    return ({ consumer }) => consumers.has(consumer)
  }
  const below = (rule.percent / 100) * HASHES
  const start = hash(`${api} `, FNV_OFFSET)
  return ({ subscription }) => mix(hash(subscription, start)) < below
}

/** Returns the name under which the health of a canary's backend is kept: a blank is in the name of no API. */
export function canaryScope(api: string): string {
  return `${api} canary`
}

/** FNV-1a, over UTF-16 code units. */
function hash(text: string, start: number): number {
  let value = start
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), FNV_PRIME)
  return value
}

/** Spreads similar texts over all values (the last step of MurmurHash3). */
function mix(value: number): number {
  let mixed = value
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
