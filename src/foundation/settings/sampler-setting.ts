/** `OTEL_TRACES_SAMPLER` and its argument. */

import type { TraceSampler } from '../domain/trace-sampler.ts'

interface Variables {
  text(name: string): string | null
  ignore(name: string, takes: string, effect?: string): void
}

const DEFAULT = 'parentbased_always_on'
const RATIOS: Readonly<Record<string, number | null>> = { always_on: 1, always_off: 0, traceidratio: null }
const PARENT_BASED = 'parentbased_'
/** Numbers as most languages write them, not the hexadecimal ones and the empty text that `Number` takes. */
const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

export function readSampler(variables: Variables): TraceSampler {
  const given = variables.text('OTEL_TRACES_SAMPLER') ?? DEFAULT
  const isParentBased = given.startsWith(PARENT_BASED)
  const root = isParentBased ? given.slice(PARENT_BASED.length) : given
  const ratio = Object.hasOwn(RATIOS, root) ? RATIOS[root] : undefined
  if (ratio === undefined) {
    const names = Object.keys(RATIOS)
    variables.ignore('OTEL_TRACES_SAMPLER', [...names, ...names.map((name) => PARENT_BASED + name)].join(', '))
    return { isParentBased: true, ratio: 1 }
  }
  return { isParentBased, ratio: ratio ?? readRatio(variables) }
}

function readRatio(variables: Variables): number {
  const text = variables.text('OTEL_TRACES_SAMPLER_ARG')
  if (text === null) return 1
  const ratio = NUMBER.test(text) ? Number(text) : NaN
  if (ratio >= 0 && ratio <= 1) return ratio
  variables.ignore('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1', 'the share is 1')
  return 1
}
