/** Figures of a service level, as the views show them. */

import { toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

const words = texts.serviceLevel

/** More digits than these say nothing about a latency. */
const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

export function toMs(value: number | null): string {
  return value === null ? words.unknown : words.ms(significant.format(value))
}

export function toPercent(value: number | null): string {
  return value === null ? words.unknown : words.percent(toNumber(value))
}
