/** Comments and log lines of `src/` avoid the patterns that made readers read a sentence twice. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = join(import.meta.dirname, '../../src')
/** A sentence starts with its subject or its verb. */
const STARTS = /^(Of|What|Whoever|Nobody)\b/
const PHRASES = /\b(whence|whoever|nobody|somebody|forgets?|forgotten|his|is told|hears of)\b/i

interface Passage {
  readonly line: number
  readonly text: string
}

/** Comments without the quotations, code and addresses in them. */
function commentsOf(source: string): Passage[] {
  const pattern = /\/\*\*?([^]*?)\*\/|^\s*\/\/ ?(.*)$/gm
  return [...source.matchAll(pattern)].map(({ 1: block, 2: line, index }) => ({
    line: lineAt(source, index),
    text: withoutQuotations((block ?? line ?? '').replaceAll(/^\s*\* ?/gm, '')),
  }))
}

/** The literal messages of log calls. */
function logLinesOf(source: string): Passage[] {
  const pattern = /\blog(?:\.(?:trace|debug|info|warn|error|fatal)|\[[^\]]+\])\(([^]*?)\n?\s*\)\s*(?:\n|$)/g
  return [...source.matchAll(pattern)].flatMap(({ 1: call = '', index }) =>
    [...call.matchAll(/'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)].map(({ 1: quoted, 2: template }) => ({
      line: lineAt(source, index),
      text: withoutQuotations(quoted ?? template ?? ''),
    })),
  )
}

function withoutQuotations(text: string): string {
  return text.replaceAll(/`[^`]*`|"[^"]*"|https?:\S+/g, '').trim()
}

function lineAt(source: string, index: number): number {
  return source.slice(0, index).split('\n').length
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.:;!?])\s+|\n\s*\n/).map((sentence) => sentence.trim())
}

const isBad = (text: string): boolean =>
  PHRASES.test(text) || sentencesOf(text).some((sentence) => STARTS.test(sentence))

function violations(passagesOf: (source: string) => Passage[]): string[] {
  return globSync('**/*.{ts,tsx}', { cwd: SRC })
    .sort()
    .flatMap((file) =>
      passagesOf(readFileSync(join(SRC, file), 'utf8'))
        .filter(({ text }) => isBad(text))
        .map(({ line, text }) => `${file}:${line} ${text.slice(0, 120)}`),
    )
}

describe('The language of the sources', () => {
  it.each(['What waits is sent. ', 'Sends it. Of two the later one wins.', 'Nobody reads it.', 'It hears of calls.'])(
    'finds the pattern in "%s"',
    (text) => expect(isBad(text)).toBe(true),
  )

  it('takes the words within other words and in quotations', () => {
    expect(commentsOf('/** This history is kept. See `what` and "Of mice". */').some(({ text }) => isBad(text))).toBe(
      false,
    )
    expect(commentsOf('// Offsets: Whatever the order.').some(({ text }) => isBad(text))).toBe(false)
  })

  it('has no such comment', () => expect(violations(commentsOf)).toEqual([]))

  it('has no such log line', () => expect(violations(logLinesOf)).toEqual([]))
})
