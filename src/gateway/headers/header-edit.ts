/**
 * Changes the headers of requests or responses: removes, replaces and adds lines.
 *
 * Compiled with the revision, so that a call costs one replacement in the text of its headers.
 */

import type { HeaderField, HeaderTransform } from '../../boundary/plan/transform-plan.ts'
import { toHeaderLines } from '../connection/header-lines.ts'
import { inOnePiece } from '../../foundation/runtime/one-piece.ts'

export interface HeaderEdit {
  /** Matches the lines that do not stay; null if all do. */
  readonly removed: RegExp | null
  readonly added: string
}

/** `secrets` replace what clients and the transformation set. Returns null if nothing changes. Throws if a header cannot be sent. */
export function compileHeaderEdit(
  { remove = [], set = [], add = [] }: HeaderTransform,
  secrets: readonly HeaderField[] = [],
): HeaderEdit | null {
  if (remove.length + set.length + add.length + secrets.length === 0) return null
  const secretNames = secrets.map(({ name }) => name)
  const own = withoutLines(toLines([...set, ...add]), toPattern(secretNames))
  const removed = toPattern([...remove, ...set.map(({ name }) => name), ...secretNames])
  return { removed, added: inOnePiece(own + toLines(secrets)) }
}

/** `lines` are those that `toHeaderLines` has written. */
export function editHeaders({ removed, added }: HeaderEdit, lines: string): string {
  return withoutLines(lines, removed) + added
}

function withoutLines(lines: string, pattern: RegExp | null): string {
  return pattern === null ? lines : lines.replace(pattern, '')
}

function toLines(fields: readonly HeaderField[]): string {
  return toHeaderLines(fields.flatMap(({ name, value }) => [name, value]))
}

/** Some backends read underscores as dashes, and some as different headers, so that both forms are removed. */
function toPattern(names: readonly string[]): RegExp | null {
  if (names.length === 0) return null
  const patterns = names.map((name) => RegExp.escape(name).replaceAll(/\\x2d|_/g, '[-_]'))
  return new RegExp(`^(?:${patterns.join('|')}):[^\\r\\n]*\\r\\n`, 'gim')
}
