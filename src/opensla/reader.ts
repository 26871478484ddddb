/**
 * Reads values out of a parsed document and collects what is wrong with them, each with its RFC 6901
 * pointer: a reader of a declaration is told of every fault at once.
 */

import type { ProblemPointer } from '../domain/problem.ts'

export type Fields = Readonly<Record<string, unknown>>

export class Faults {
  readonly all: ProblemPointer[] = []

  add(pointer: string, detail: string): void {
    if (this.all.length < FAULTS_MAX) this.all.push({ pointer, detail })
  }
}

const FAULTS_MAX = 100

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsAt(value: unknown, pointer: string, faults: Faults): Fields | null {
  if (value === undefined) return null
  if (isFields(value)) return value
  faults.add(pointer, 'Give an object.')
  return null
}

export function listAt(value: unknown, pointer: string, faults: Faults): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value as readonly unknown[]
  faults.add(pointer, 'Give a list.')
  return []
}

export function textAt(value: unknown, pointer: string, faults: Faults): string | null {
  if (typeof value === 'string' && value.length > 0 && value.length <= 256) return value
  faults.add(pointer, 'Give a text of 1 to 256 characters.')
  return null
}

export function wholeAt(value: unknown, pointer: string, faults: Faults, min = 0): number | null {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value
  faults.add(pointer, `Give a whole number from ${min}.`)
  return null
}

/** RFC 6901 */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}
