/**
 * The baseline: findings that a document had when the gate was introduced, so that only new ones fail.
 *
 * Findings are identified by fingerprint, which does not depend on lines. If several have the same fingerprint, the baseline knows
 * as many as it lists.
 */

import { normalize } from 'node:path'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import type { ReportFinding } from '../report/report.ts'
import { InputFault } from './input-fault.ts'

export interface Baseline {
  /** Returns a function that tells known findings of a document from new ones, each call counting one finding. */
  openDocument(file: string): (finding: Pick<ReportFinding, 'fingerprint'>) => boolean
}

type BaselineFinding = Pick<ReportFinding, 'rule' | 'pointer' | 'fingerprint'>
/** Counts by fingerprint, by document. */
type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>

export const NO_BASELINE: Baseline = { openDocument: () => () => false }
const VERSION = 1

/** Throws `InputFault` if the content was not written by `toBaselineText`. */
export function readBaseline(name: string, content: Fields): Baseline {
  const refuse = (reason: string): InputFault => new InputFault(name, `--baseline ${name}: ${reason}.`)
  if (content['version'] !== VERSION)
    throw refuse(`\`version\` must be ${VERSION}; write the file with --write-baseline`)
  const documents = new Map<string, ReadonlyMap<string, number>>()
  for (const [file, list] of Object.entries(fieldsOf(content['documents']))) {
    if (!Array.isArray(list)) throw refuse('`documents` must hold lists of findings')
    const counts = new Map<string, number>()
    for (const item of list) {
      const { fingerprint } = fieldsOf(item)
      if (typeof fingerprint !== 'string') throw refuse('a finding has no `fingerprint`')
      counts.set(fingerprint, (counts.get(fingerprint) ?? 0) + 1)
    }
    documents.set(file, counts)
  }
  return toBaseline(documents)
}

/** Returns a baseline that has all of these findings. */
export function baselineOf(documents: ReadonlyMap<string, readonly BaselineFinding[]>): Baseline {
  const countsOf = (findings: readonly BaselineFinding[]): ReadonlyMap<string, number> =>
    new Map([...Map.groupBy(findings, ({ fingerprint }) => fingerprint)].map(([key, items]) => [key, items.length]))
  return toBaseline(new Map([...documents].map(([file, findings]) => [toKey(file), countsOf(findings)])))
}

export function toBaselineText(documents: ReadonlyMap<string, readonly BaselineFinding[]>): string {
  const entries = [...documents].map(([file, findings]) => [
    toKey(file),
    findings
      .map(({ rule, pointer, fingerprint }) => ({ rule, pointer, fingerprint }))
      .toSorted((a, b) => compareTexts(a.rule, b.rule) || compareTexts(a.pointer, b.pointer)),
  ])
  return `${JSON.stringify({ version: VERSION, documents: Object.fromEntries(entries) }, null, 2)}\n`
}

function toBaseline(documents: Counts): Baseline {
  return {
    openDocument(file) {
      const left = new Map(documents.get(toKey(file)))
      return ({ fingerprint }) => {
        const count = left.get(fingerprint) ?? 0
        if (count > 0) left.set(fingerprint, count - 1)
        return count > 0
      }
    },
  }
}

/** The same file has one key, with and without `./`. */
function toKey(file: string): string {
  return normalize(file).replaceAll('\\', '/')
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
