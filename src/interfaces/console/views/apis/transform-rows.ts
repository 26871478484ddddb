/** The changes of headers that a transformation makes, in the order in which they are made. */

import type { Proxy } from './proxy.ts'

type Transform = NonNullable<Proxy['transform']>

export interface TransformRow {
  readonly direction: 'request' | 'response'
  readonly step: 'remove' | 'set' | 'add'
  readonly name: string
  /** Empty: the header is removed. */
  readonly value: string
}

const DIRECTIONS = ['request', 'response'] as const

export function rowsOf(transform: Transform): readonly TransformRow[] {
  return DIRECTIONS.flatMap((direction) => {
    const { remove = [], set = [], add = [] } = transform[direction] ?? {}
    return [
      ...remove.map((name) => ({ direction, step: 'remove' as const, name, value: '' })),
      ...set.map((field) => ({ direction, step: 'set' as const, ...field })),
      ...add.map((field) => ({ direction, step: 'add' as const, ...field })),
    ]
  })
}
