/**
 * Lints the real documents of the tests and writes their table to `bench/RESULTS.md`.
 *
 *   node bench/real-documents.ts
 *
 * The time is processor time, so that other programs on the machine hardly change it.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lint, lintServable, readToLint } from '../src/documents/governance/lint/lint.ts'
import { readDocument } from '../src/documents/governance/specification.ts'
import { readRealDocument, REAL_DOCUMENTS } from '../test/fixtures/real-documents.ts'

const FILE = join(import.meta.dirname, 'RESULTS.md')
const HEAD = '| Document | Operations | Time (s) | Score | Faults |\n| --- | --: | --: | --: | --: |\n'
const END = '\n\n'

async function rowOf(document: (typeof REAL_DOCUMENTS)[number]): Promise<string> {
  const bytes = readRealDocument(document)
  const before = process.cpuUsage()
  const read = await readToLint(bytes)
  const faults = 'faults' in read ? read.faults.length : 0
  // A document with faults shows the score that it would have without them.
  const judged = 'faults' in read ? readDocument(bytes).specification : read
  const { score } = await lintServable(bytes, judged, { rules: {} })
  const { user, system } = process.cpuUsage(before)
  const shown = faults > 0 ? `(${score.toFixed(1)})` : score.toFixed(1)
  return `| ${document.name} | ${judged.operations.length} | ${((user + system) / 1e6).toFixed(1)} | ${shown} | ${faults} |`
}

await lint(Buffer.from('openapi: 3.0.0\ninfo: {title: t, version: 1.0.0}\npaths: {/a: {get: {responses: {}}}}\n'))
const rows: string[] = []
for (const document of REAL_DOCUMENTS) {
  rows.push(await rowOf(document))
  process.stdout.write(`${rows.at(-1)}\n`)
}
const text = readFileSync(FILE, 'utf8')
const start = text.indexOf(HEAD) + HEAD.length
const end = text.indexOf(END, start)
writeFileSync(FILE, `${text.slice(0, start)}${rows.join('\n')}${text.slice(end)}`)
