/** The commands as a build runs them, in this process. */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { REPORT_FORMATS } from '../../../../../src/interfaces/cli/report/format-report.ts'
import { documentOf, gate, openFolder } from './working-folder.ts'

const DELETE = { '/other': { delete: { operationId: 'x', responses: { 204: { description: 'Gone.' } } } } }
const RULES = JSON.stringify({ rules: { 'operation-summary': 'error' } })

describe('tollgate lint', () => {
  it('passes a document without errors, and fails it by a lower severity or a minimum score', async () => {
    openFolder({ 'a.json': documentOf() })
    expect(await gate('lint', ['a.json'])).toMatchObject({ code: 0, err: '' })
    expect((await gate('lint', ['a.json', '--fail-severity', 'warning'])).code).toBe(1)
    const low = await gate('lint', ['a.json', '--min-score', '99.9'])
    expect(low.code).toBe(1)
    expect(low.out).toMatch(
      /^a\.json {2}█+░* \d+\.\d of 100; asked for 99\.9: not good enough: the score is below 99\.9\n/,
    )
    expect((await gate('lint', ['a.json', '--min-score', '80'])).code).toBe(0)
  })

  it('lints several files, patterns and standard input, each with its own result', async () => {
    openFolder({ 'apis/a.json': documentOf(), 'apis/b.json': 'openapi: 2.0.0' })
    const { code, out } = await gate('lint', ['apis/*.json', '-', '--format', 'json'], documentOf())
    const { documents } = JSON.parse(out) as { documents: { file: string; isGood: boolean }[] }
    expect(documents.map(({ file, isGood }) => [file, isGood])).toEqual([
      ['apis/a.json', true],
      ['apis/b.json', false],
      ['stdin', true],
    ])
    expect(code).toBe(1)
  })

  it('lints the other files if one cannot be read, and ends with exit code 2', async () => {
    openFolder({ 'a.json': documentOf(), 'empty.json': '' })
    const { code, out, err } = await gate('lint', ['a.json', 'none.json', 'empty.json', 'x*.json'])
    expect(code).toBe(2)
    expect(out).toContain('a.json')
    expect(err).toBe(
      'tollgate: none.json: there is no such file.\ntollgate: empty.json is empty.\ntollgate: No file matches x*.json.\n',
    )
  })

  it('applies a ruleset in YAML or JSON, and refuses one with faults', async () => {
    openFolder({
      'a.json': documentOf(),
      'rules.json': RULES,
      'rules.yaml': 'rules:\n  operation-summary: error\n',
      'wrong.yaml': 'rules: { no-such-rule: error }',
      'none.yaml': '{}',
      'list.yaml': '- 1',
    })
    expect((await gate('lint', ['a.json', '--ruleset', 'rules.json'])).code).toBe(1)
    expect((await gate('lint', ['a.json', '--ruleset', 'rules.yaml'])).code).toBe(1)
    const wrong = await gate('lint', ['a.json', '--ruleset', 'wrong.yaml'])
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toMatch(/^tollgate: --ruleset wrong\.yaml: \/rules\/no-such-rule: .+\n$/)
    for (const name of ['none.yaml', 'list.yaml', 'missing.yaml']) {
      expect(await gate('lint', ['a.json', '--ruleset', name])).toMatchObject({ code: 2, out: '' })
    }
  })

  it('does not count ignored findings, neither as failures nor in the score', async () => {
    const entry = (rule: string, expires: string) => ({ rule, reason: 'Accepted by the team.', expires })
    openFolder({
      'a.json': documentOf(),
      'ignore.json': JSON.stringify({
        ignore: [entry('operation-summary', '2026-12-31'), entry('security-declared', '2026-12-31')],
      }),
      'expired.json': JSON.stringify({
        ignore: [entry('operation-summary', '2026-12-31'), entry('security-declared', '2026-01-31')],
      }),
    })
    const strict = ['a.json', '--fail-severity', 'info', '--min-score', '100']
    expect((await gate('lint', strict)).code).toBe(1)
    const ignored = await gate('lint', [...strict, '--ignore-file', 'ignore.json'])
    expect(ignored.code).toBe(0)
    expect(ignored.out).toContain('100.0 without ignored and known findings')
    const expired = await gate('lint', [...strict, '--ignore-file', 'expired.json'])
    expect(expired.code).toBe(1)
    expect(expired.out).toContain('Entry 2 of the ignore file (security-declared) expired on 2026-01-31')
  })

  it('fails only new findings with a baseline, wherever the old ones have moved', async () => {
    openFolder({ 'a.json': documentOf() })
    const strict = ['a.json', '--fail-severity', 'info']
    expect((await gate('lint', [...strict, '--write-baseline', 'baseline.json'])).code).toBe(0)
    const gated = [...strict, '--baseline', 'baseline.json', '--min-score', '100']
    expect((await gate('lint', gated)).code).toBe(0)
    writeFileSync('a.json', `\n\n\n${documentOf()}`)
    expect((await gate('lint', gated)).code).toBe(0)
    writeFileSync('a.json', documentOf({ paths: DELETE }))
    const { code, out } = await gate('lint', [...gated, '--format', 'json'])
    expect(code).toBe(1)
    const { documents } = JSON.parse(out) as { documents: { findings: { pointer: string; state: string }[] }[] }
    for (const { pointer, state } of documents[0]!.findings) {
      expect(state).toBe(pointer.includes('things') ? 'known' : 'new')
    }
    writeFileSync('baseline.json', '{')
    expect((await gate('lint', gated)).code).toBe(2)
  })

  it('knows the findings of a parameter that has moved within its list', async () => {
    const [first, second] = ['a', 'b'].map((name) => ({ name, in: 'query', schema: { type: 'string' } }))
    openFolder({ 'a.json': documentOf({ operation: { parameters: [first] } }) })
    const strict = ['a.json', '--fail-severity', 'info']
    await gate('lint', [...strict, '--write-baseline', 'baseline.json'])
    writeFileSync('a.json', documentOf({ operation: { parameters: [second, first] } }))
    const { out } = await gate('lint', [...strict, '--baseline', 'baseline.json', '--format', 'json'])
    const { documents } = JSON.parse(out) as { documents: { findings: { pointer: string; state: string }[] }[] }
    const fresh = documents[0]!.findings.filter(({ state }) => state === 'new').map(({ pointer }) => pointer)
    expect(new Set(fresh.map((pointer) => pointer.split('/')[5]))).toEqual(new Set(['0']))
  })

  it('writes the report to a file, and one line per document to standard output unless it is quiet', async () => {
    openFolder({ 'a.json': documentOf() })
    const { out } = await gate('lint', ['a.json', '--format', 'sarif', '--output', 'r.sarif'])
    expect(out).toMatch(/^a\.json {2}.*: good\n$/)
    expect(JSON.parse(readFileSync('r.sarif', 'utf8'))).toMatchObject({ version: '2.1.0' })
    expect(await gate('lint', ['a.json', '--output', 'r.txt', '--quiet'])).toEqual({ code: 0, out: '', err: '' })
    expect(await gate('lint', ['a.json', '--quiet'])).toEqual({ code: 0, out: '', err: '' })
    expect(await gate('lint', ['a.json', '--output', 'none/r.txt'])).toMatchObject({
      code: 2,
      err: 'tollgate: none/r.txt cannot be written (ENOENT).\n',
    })
  })

  it('lists all findings of a document that has more than 500', async () => {
    const get = { responses: { 200: { description: 'Fine.' } } }
    const paths = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`/p${index}`, { get }]))
    openFolder({ 'a.json': documentOf({ paths }) })
    const { out } = await gate('lint', ['a.json', '--format', 'json'])
    const { documents } = JSON.parse(out) as { documents: { findings: object[]; notes: string[] }[] }
    expect(documents[0]!.findings.length).toBeGreaterThan(500)
    expect(documents[0]!.notes.join()).not.toContain('not listed')
  })
})

describe('tollgate breaking', () => {
  const paths = DELETE

  it('fails a breaking change, and shows its places in both documents', async () => {
    openFolder({ 'old.json': documentOf({ paths }), 'new.json': documentOf() })
    const { code, out } = await gate('breaking', ['old.json', 'new.json'])
    expect(code).toBe(1)
    expect(out).toMatch(/^new\.json {2}1 breaking change: not good enough: 1 failing finding\n/)
    expect(out).toMatch(/^✗ 16:3 \(was old\.json:34:7\) {2}breaking {2}The operation was removed\./m)
    expect(await gate('breaking', ['new.json', 'old.json'])).toMatchObject({ code: 0 })
    expect((await gate('breaking', ['new.json', 'old.json', '--fail-severity', 'info'])).code).toBe(1)
  })

  it('shows the place of a renamed part in each document, none for what is new, and the operations', async () => {
    const version = (name: string, maxLength: number, more: object = {}) => {
      const parameters = [{ name, in: 'path', required: true, schema: { type: 'string', maxLength } }]
      const [remove, put] = ['remove', 'put'].map((operationId) => ({ ...DELETE['/other'].delete, operationId }))
      return documentOf({ paths: { [`/other/{${name}}`]: { parameters, delete: remove, put }, ...more } })
    }
    const old = version('id', 9)
    const next = version('key', 8, DELETE)
    openFolder({ 'old.json': old, 'new.json': next })
    const lineOf = (text: string, word: string) => text.split('\n').findIndex((line) => line.includes(word)) + 1
    const operations = ['PUT /other/{id}', 'DELETE /other/{id}']
    const { out } = await gate('breaking', ['old.json', 'new.json', '--format', 'json'])
    expect(JSON.parse(out)).toMatchObject({
      documents: [
        {
          findings: [
            {
              rule: 'request.bound',
              place: { file: 'new.json', line: lineOf(next, 'maxLength') },
              previousPlace: { file: 'old.json', line: lineOf(old, 'maxLength') },
              operations,
            },
            { rule: 'operation.added', previousPlace: null },
          ],
        },
      ],
    })
    expect((await gate('breaking', ['old.json', 'new.json'])).out).toContain(` Affects ${operations.join(', ')}.`)
  })

  it('lets a new major version break, and lists what breaks, unless --fail-on-breaking is given', async () => {
    openFolder({ 'old.json': documentOf({ paths }), 'new.json': documentOf({ version: '2.0.0' }) })
    const { code, out } = await gate('breaking', ['old.json', 'new.json'])
    expect(code).toBe(0)
    expect(out).toContain('1 breaking change: good')
    expect(out).toContain('The operation was removed. (allowed: a new major version: 2.0.0 after 1.0.0)')
    expect((await gate('breaking', ['old.json', 'new.json', '--fail-on-breaking'])).code).toBe(1)
  })

  it('compares a file with the same file as of a commit', { tags: ['git'] }, async () => {
    openFolder({ 'api.json': documentOf({ paths }) })
    execFileSync('git', ['init', '-q', '-b', 'main'])
    execFileSync('git', ['add', '.'])
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'First'])
    expect((await gate('breaking', ['git:main:api.json', 'api.json'])).code).toBe(0)
    expect((await gate('breaking', ['git:main:api.json', '-'], documentOf())).code).toBe(1)
    expect((await gate('breaking', ['api.json', 'git:main:api.json'])).code).toBe(0)
    expect(await gate('breaking', ['git:none:api.json', 'api.json'])).toMatchObject({ code: 2, out: '' })
  })

  it('ends with exit code 2 and one sentence if a version cannot be read', async () => {
    openFolder({ 'api.json': documentOf(), 'empty.yaml': '', 'wrong.yaml': 'openapi: 3.1.0\ninfo: 1\npaths: {}\n' })
    for (const args of [
      ['none.yaml', 'api.json'],
      ['api.json', 'none.yaml'],
      ['empty.yaml', 'api.json'],
      ['.', 'api.json'],
      ['wrong.yaml', 'api.json'],
      ['api.json', 'wrong.yaml'],
    ]) {
      const { code, out, err } = await gate('breaking', args)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(/^tollgate: [^\n]+\.\n$/)
    }
    expect((await gate('breaking', ['wrong.yaml', 'api.json'])).err).toContain(
      'wrong.yaml:2:1: it cannot be compared: The value must be object.\n',
    )
  })

  it('accepts breaking changes that the ignore file or the baseline lists', async () => {
    const entry = { rule: 'operation.removed', reason: 'It was never used.', expires: '2026-12-31' }
    openFolder({
      'old.json': documentOf({ paths }),
      'new.json': documentOf(),
      'ignore.json': JSON.stringify({ ignore: [entry] }),
    })
    const args = ['old.json', 'new.json']
    expect((await gate('breaking', [...args, '--ignore-file', 'ignore.json'])).code).toBe(0)
    expect((await gate('breaking', [...args, '--write-baseline', 'b.json'])).code).toBe(0)
    expect((await gate('breaking', [...args, '--baseline', 'b.json'])).code).toBe(0)
  })

  it('writes its changes as a changelog in Markdown', async () => {
    openFolder({ 'old.json': documentOf({ paths }), 'new.json': documentOf() })
    const { out } = await gate('breaking', ['old.json', 'new.json', '--format', 'markdown'])
    expect(out).toMatch(
      /^# Changes of the API\n\n## new\.json\n[^]*### Breaking\n\n- [A-Z]+ \/[^:]*: The operation was removed\./,
    )
    const { out: added } = await gate('breaking', ['new.json', 'old.json', '--format', 'markdown'])
    expect(added).toMatch(/### Added\n\n- [A-Z]+ \/[^:]*: The operation was added\./)
  })

  it('fails for a policy check that a ruleset makes an error', async () => {
    const renamed = documentOf().replace(/"operationId":\s*"/, '$&other')
    openFolder({
      'old.json': documentOf(),
      'new.json': renamed,
      'rules.json': JSON.stringify({ rules: { 'operation.renamed': 'error' } }),
    })
    expect((await gate('breaking', ['old.json', 'new.json'])).code).toBe(0)
    const { code, out } = await gate('breaking', ['old.json', 'new.json', '--ruleset', 'rules.json'])
    expect(code).toBe(1)
    expect(out).toContain('operation.renamed')
  })
})

describe('The exit code', () => {
  it('is the same in every format', async () => {
    openFolder({ 'a.json': documentOf(), 'b.json': documentOf({ paths: DELETE }) })
    for (const format of REPORT_FORMATS) {
      expect((await gate('breaking', ['a.json', 'b.json', '--format', format])).code, format).toBe(0)
      expect((await gate('breaking', ['b.json', 'a.json', '--format', format])).code, format).toBe(1)
      expect((await gate('breaking', ['b.json', 'x.json', '--format', format])).code, format).toBe(2)
    }
  })

  it('is 0 for help and 2 for wrong use', async () => {
    expect(await gate('lint', ['--help'])).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('tollgate lint') as string,
    })
    expect(await gate('lint', [])).toMatchObject({ code: 2, out: '' })
  })
})
