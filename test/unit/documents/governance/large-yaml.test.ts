import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { findPlaces } from '../../../../src/documents/governance/lint/places.ts'
import { parseLargeYaml, YamlFault } from '../../../../src/documents/governance/large-yaml.ts'
import { readDocument } from '../../../../src/documents/governance/specification.ts'
import { createRandom, type Random } from '../../../random.ts'
import { readSeed } from '../../../random-seed.ts'
import { readGithubDocument } from '../../../fixtures/real-documents.ts'

const read = (text: string): unknown => parseLargeYaml(text, { depthMax: 256 }).value
const byLibrary = (text: string): unknown => parse(text, { version: '1.2', stringKeys: true })

/** Returns null if the text has a form that only the YAML parser reads. */
function readOrRefuse(text: string): { readonly value: unknown } | null {
  try {
    return { value: read(text) }
  } catch (cause) {
    if (cause instanceof YamlFault) return null
    throw cause
  }
}

const TEXTS: readonly unknown[] = [
  'plain',
  '',
  'true',
  '7',
  '1.10',
  '0x1f',
  '.inf',
  '~',
  'null',
  'a: b',
  '- a',
  '# no',
  'a #b',
  "it's",
  '"quoted"',
  'x\ny',
  'x\n\n  y\nz\n',
  '  lead\ntext',
  'long '.repeat(40),
  `${'long '.repeat(30)}\n\nmore`,
  'tab\tin',
  'é \u2028 ü',
  '[a',
  '{b}',
  '*x',
  '&y',
  '!z',
  'end:',
  '?',
  '-',
  '200',
  'a\\b',
  '\u0007',
  7,
  -0.5,
  1e21,
  true,
  false,
  null,
  [],
  {},
]
const KEYS = [
  'a',
  'b c',
  '200',
  'true',
  '~',
  '/path/{id}',
  '$ref',
  '__proto__',
  'x-y',
  "it's",
  'a: b',
  '"q"',
  '- d',
  '',
]

function randomValue(random: Random, depth: number): unknown {
  const kind = depth === 0 ? 0 : random.below(3)
  if (kind === 0) return TEXTS[random.below(TEXTS.length)]
  const inner = Array.from({ length: random.below(5) }, () => randomValue(random, depth - 1))
  if (kind === 1) return inner
  return Object.fromEntries(inner.map((value) => [KEYS[random.below(KEYS.length)], value]))
}

describe('a large YAML document', () => {
  it('yields the value that the YAML parser reads, for random documents in several layouts', () => {
    const random = createRandom(readSeed(17))
    let refused = 0
    for (let round = 0; round < 600; round++) {
      const value = { root: randomValue(random, 5) }
      const text = stringify(value, {
        lineWidth: [0, 40, 80][random.below(3)]!,
        indentSeq: random.below(2) === 0,
        indent: 2 + random.below(3),
        collectionStyle: random.below(4) === 0 ? 'any' : 'block',
        aliasDuplicateObjects: false,
        defaultStringType: (['PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'] as const)[
          random.below(5)
        ]!,
      })
      const result = readOrRefuse(text)
      if (result === null) refused++
      else expect(result.value, text).toEqual(byLibrary(text))
    }
    // Texts of several lines as keys, and tabs.
    expect(refused).toBeLessThan(60)
  })

  it.each([
    ['comments', '# a\na: 1 # b\n# c\nb:\n  # d\n  - x # e\n\n  - y\n'],
    ['a document marker', '---\na: 1\n'],
    ['lists in lists', '- - a\n  - b\n-\n  - c\n- d: 1\n  e:\n  - 2\n'],
    ['values on the line below', 'a:\n  text\nb:\n\n  "x"\nc:\nd: |\n  e\n'],
    ['flow collections', 'a: {b: [1, two, "three, four"], c: {}}\nd: [\n  x,\n  y\n  ]\n'],
    ['plain text of several lines', 'a: one\n  two\n\n  three\nb: x\n'],
    ['block texts with indicators', 'a: |2-\n   x\n  y\nb: >+\n  c\n\n  d\n\n\ne: |\n   f\n  \n   g\n'],
    ['colons and hashes in texts', 'a: http://x.example/#b\nb: a:b\nc: x#y\n'],
  ])('may have %s', (_, text) => {
    expect(read(text)).toEqual(byLibrary(text))
  })

  it.each([
    ['an alias', 'a: &x 1\nb: *x\n'],
    ['an alias in a flow collection', 'a: [&x 1, *x]\n'],
    ['a tag', 'a: !!binary x\n'],
    ['a complex key', '? a\n: b\n'],
    ['a tab', 'a:\n\tb: 1\n'],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['an entry in no column', 'a:\n    b: 1\n  c: 2\n'],
    ['a list beside a key', 'a: - b\n'],
    ['two keys on a line', 'a: b: c\n'],
    ['an open bracket', 'a: [1\nb: 2\n'],
    ['an open quotation mark', 'a: "x\nb: 2\n'],
    ['a repeated key', 'a: 1\n"a": 2\n'],
    ['very many flow collections', 'a: [x]\n- '.repeat(30_000)],
  ])('is refused with %s', (_, text) => {
    expect(() => read(text)).toThrow(YamlFault)
  })

  it.each(['"', "'", ''])('may have a text of nine megabytes in quotes: %s', (quote) => {
    const content = 'a'.repeat(9_000_000)
    expect(read(`a: ${quote}${content}${quote}\n`)).toEqual({ a: content })
  })

  it('is refused beyond the depth that was asked for', () => {
    expect(() => read('- '.repeat(300) + 'x')).toThrow('nested more than 256 levels deep')
    expect(() => read('- '.repeat(200) + 'x')).not.toThrow()
  })

  it('of ten megabytes is read, with the lines of its faults', { timeout: 120_000 }, () => {
    const document = JSON.parse(readGithubDocument().toString()) as {
      info: Record<string, unknown>
      paths: Record<string, unknown>
    }
    document.info['version'] = 1.1
    document.paths['/zen'] = { get: { responses: { 200: {} } } }
    const text = stringify(document, { aliasDuplicateObjects: false }).replace('version: 1.1', 'version: 1.10')
    expect(text.length).toBeGreaterThan(9_000_000)
    const { specification, deployable, faults } = readDocument(Buffer.from(text))
    expect(specification.operations.length).toBeGreaterThan(1_000)
    expect(deployable?.version).toBe('1.10.0')
    expect(faults.map(({ pointer }) => pointer)).toEqual(['/paths/~1zen/get/responses/200'])
    const place = findPlaces(text, false, ['/paths/~1zen/get'])('/paths/~1zen/get')
    expect(text.split('\n')[place.line - 1]).toBe('    get:')
    expect(text.split('\n')[place.line - 2]).toBe('  /zen:')
  })
})
