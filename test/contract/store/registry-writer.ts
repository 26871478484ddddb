/** Commits pairs of documents until it is killed, and prints each acknowledged commit. */

import { writeSync } from 'node:fs'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { openSqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'

const [, , path = '', from = '0'] = process.argv
const registry = openSqliteRegistry({ path, clock: systemClock })

for (let number = Number(from); ; number++) {
  const keys = { number: String(number) }
  await registry.commit({ tenant: 'acme', consumer: 'con_1' }, 'make', [
    { kind: 'left', id: `l${number}`, tenant: 'acme', expected: 0, body: number, keys, unique: ['number'] },
    { kind: 'right', id: `r${number}`, tenant: 'acme', expected: 0, body: 'x'.repeat(5_000), keys },
  ])
  writeSync(1, `${number}\n`)
}
