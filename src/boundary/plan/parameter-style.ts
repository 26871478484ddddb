/** The styles in which parameters can be read and written. */

import type { ParameterPlan } from './route-plan.ts'

const READABLE = {
  path: ['simple'],
  header: ['simple'],
  cookie: ['form'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
} as const satisfies Record<ParameterPlan['in'], readonly string[]>

export function isReadable({ in: place, style }: Pick<ParameterPlan, 'in' | 'style'>): boolean {
  return (READABLE[place] as readonly string[]).includes(style)
}
