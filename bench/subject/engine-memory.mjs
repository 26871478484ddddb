/** Prints what a process has resident before and after it opens the embedded engine on an empty folder. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const sizes = {}
note('Node alone')
const { Session } = createRequire(import.meta.url)('chdb')
note('with the library')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-engine-'))
const session = new Session(folder)
session.query('CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a')
session.query('INSERT INTO t SELECT number FROM numbers(1000)')
session.query('SELECT sum(a) FROM t')
note('with a table')
session.close()
rmSync(folder, { recursive: true, force: true })
console.log(JSON.stringify(sizes))

function note(stage) {
  const text = readFileSync('/proc/self/smaps_rollup', 'utf8')
  for (const [name, field] of [
    ['resident', 'Rss'],
    ['anonymous', 'Anonymous'],
  ]) {
    sizes[`${stage}, ${name}`] = Number(new RegExp(`^${field}: +(\\d+)`, 'm').exec(text)[1]) / 1024
  }
}
