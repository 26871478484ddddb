/** Declares limits of concurrent calls: `concurrent` of a definition. */

import type { LimitDeclaration } from './limit-declaration.ts'
import { wholeAt } from './reader.ts'

export const CONCURRENT_DECLARATION: LimitDeclaration<'concurrent'> = {
  member: 'concurrent',
  read(value, pointer, _validity, faults) {
    const calls = value === undefined ? null : wholeAt(value, pointer, faults)
    return calls === null ? [] : [['concurrent', { kind: 'concurrent', value: calls }]]
  },
  warn() {},
}
