import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { validate } from '../../../../src/interfaces/cli/validate.ts'
import {
  FORMATS,
  readValidateSettings,
  type ValidateSettings,
} from '../../../../src/interfaces/cli/validate-settings.ts'
import type { ValidationResult } from '../../../../src/interfaces/cli/validation-result.ts'

const ENV = { CLIENT_ID: 'id', CLIENT_SECRET: 'secret' }
const hostile = `<b>"it's"</b> & \u0000\u001b[31m`

/** As of a service that does not know `changes`. */
const RESULT: Omit<ValidationResult, 'changes'> = {
  score: 84.5,
  findings: [
    {
      rule: 'security-secret',
      category: 'security',
      severity: 'error',
      message: `A secret ${hostile}`,
      advice: 'Revoke it.',
      pointer: '/info/description',
      line: 4,
      column: 17,
    },
    {
      rule: 'example',
      category: 'documentation',
      severity: 'info',
      message: 'No example.',
      advice: 'Give one.',
      pointer: '/paths',
      line: 120,
      column: 3,
    },
  ],
  compliance: { band: 'attention', categories: { validity: 100, security: 80 }, omitted: 7, coverage: null },
  breakingChanges: [
    { id: 'operation.removed', level: 'breaking', pointer: '/paths/~1a/get', message: 'The operation was removed.' },
  ],
  recommendations: [{ advice: 'Revoke it.', count: 1, gain: 12.3 }],
}

async function run(args: readonly string[], result = RESULT) {
  const folder = mkdtempSync(join(tmpdir(), 'validate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, old] = [join(folder, 'new.yaml'), join(folder, 'old.yaml')]
  writeFileSync(file, 'new')
  writeFileSync(old, 'old')
  const settings = readValidateSettings(
    [file, ...args.map((arg) => (arg === 'OLD' ? old : arg))],
    ENV,
  ) as ValidateSettings
  const asked: unknown[] = []
  const platform = {
    async post<T>(path: string, body?: unknown): Promise<T> {
      asked.push([path, body])
      return result as T
    },
  }
  return { ...(await validate(settings, false, platform)), asked }
}

it('the command of the package is an executable file', () => {
  const root = join(import.meta.dirname, '../../../..')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: Record<string, string> }
  for (const file of Object.values(bin)) {
    accessSync(join(root, file), constants.X_OK)
    expect(readFileSync(join(root, file), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  }
})

it('the package may be published, under the name that npm i takes', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8')
  expect({ private: false, ...JSON.parse(text) }).toMatchObject({ name: 'tollgate', private: false })
})

describe('the settings of validate', () => {
  it('are a file and the defaults', () => {
    expect(readValidateSettings(['a.yaml'], ENV)).toEqual({
      file: 'a.yaml',
      previous: null,
      root: null,
      minScore: 80,
      format: 'text',
      service: {
        gatewayUrl: 'http://127.0.0.1:8080',
        baseUrl: 'http://127.0.0.1:8081',
        clientId: 'id',
        clientSecret: 'secret',
      },
    })
  })

  it.each([{}, { ...ENV, TOLLGATE_TOKEN: 'x' }, { ...ENV, TOLLGATE_CLIENT_ID: 'x' }])(
    'with the environment %j are those of the session',
    (env) => expect(readValidateSettings(['a.yaml'], env)).toMatchObject({ service: null }),
  )

  it.each([
    [[], ENV, 'Name one file.'],
    [['a', 'b'], ENV, 'Name one file.'],
    [['a', '--min-score', '101'], ENV, '--min-score takes 0 to 100'],
    [['a', '--min-score', 'x'], ENV, '--min-score takes 0 to 100'],
    [['a', '--format', 'xml'], ENV, `--format takes one of ${FORMATS.join(', ')}`],
    [['a', '--fast'], ENV, 'Unknown option'],
  ])('%j are refused', (args, env, why) => {
    expect(readValidateSettings(args, env)).toContain(why)
  })
})

describe('validate', () => {
  it('sends the content of the files, and passes if the score is reached and no change is breaking', async () => {
    const { asked } = await run(['--previous', 'OLD'])
    expect(asked).toEqual([['/v1/programmes/validate', { specification: 'bmV3', previous: 'b2xk' }]])
    const fine = { ...RESULT, breakingChanges: [] }
    expect((await run([], fine)).isGood).toBe(true)
    expect((await run(['--min-score', '84.5'], fine)).isGood).toBe(true)
    expect((await run(['--min-score', '84.6'], fine)).isGood).toBe(false)
    expect((await run([])).isGood).toBe(false)
  })

  it('shows findings with their places, breaking changes and the first fixes as text', async () => {
    const { report } = await run([])
    expect(report).toContain(
      '84.5 of 100, attention; asked for 80: not good enough: 1 breaking change since the previous version\n',
    )
    expect(report).toMatch(/^ {2}4:17 {3}error {4}A secret/m)
    expect(report).toMatch(/^ {2}120:3 {2}info {5}No example\. {2}example$/m)
    expect(report).toContain('and 7 more')
    expect(report).toMatch(/Changes from the previous version:\n {2}breaking {2}The operation was removed\./)
    expect(report).toContain('+12.3  Revoke it. (1×)')
    expect(report).not.toMatch(/[\u0000\u001b]/)
  })

  it('shows the parts that Spectral’s rules did not check', async () => {
    const coverage = { operations: 60, of: 1_200, failed: [{ rule: 'owner', detail: 'It throws.' }] }
    const { report } = await run([], { ...RESULT, compliance: { ...RESULT.compliance, coverage } })
    expect(report).toContain("Spectral's rules checked 60 of 1200 operations")
    expect(report).toContain('owner could not be applied: It throws.')
    const whole = { operations: 3, of: 3, failed: [] }
    const { report: quiet } = await run([], { ...RESULT, compliance: { ...RESULT.compliance, coverage: whole } })
    expect(quiet).not.toContain('Spectral')
  })

  it('writes the same result as JSON, SARIF and JUnit', async () => {
    expect(JSON.parse((await run(['--format', 'json'])).report)).toEqual({ ...RESULT, changes: RESULT.breakingChanges })
    const sarif = JSON.parse((await run(['--format', 'sarif'])).report) as { runs: { results: object[] }[] }
    expect(sarif.runs[0]?.results).toMatchObject([
      { ruleId: 'operation.removed', level: 'error' },
      {
        ruleId: 'security-secret',
        level: 'warning',
        locations: [{ physicalLocation: { region: { startLine: 4, startColumn: 17 } } }],
      },
      { ruleId: 'example', level: 'note' },
    ])
    const { report: junit } = await run(['--format', 'junit'])
    expect(junit).toContain('tests="4" failures="1"')
    expect(junit).toContain('&lt;b&gt;&quot;it&apos;s&quot;&lt;/b&gt; &amp; ??[31m')
  })
})

describe('the inputs of validate', () => {
  it('are sent as one document, and findings are shown in the file that holds them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'validate-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const schemas = { Pet: { $ref: 'pet.yaml' } }
    writeFileSync(join(folder, 'api.json'), JSON.stringify({ openapi: '3.1.0', components: { schemas } }))
    writeFileSync(join(folder, 'pet.yaml'), '# A pet\ntype: object\n')
    const settings = readValidateSettings([join(folder, 'api.json')], ENV) as ValidateSettings
    let sent = ''
    const platform = {
      async post<T>(_: string, body?: unknown): Promise<T> {
        sent = Buffer.from((body as { specification: string }).specification, 'base64').toString()
        const finding = { ...RESULT.findings[0]!, pointer: '/components/schemas/pet/type' }
        return { ...RESULT, breakingChanges: [], findings: [finding] } as T
      },
    }
    const { report } = await validate(settings, false, platform)
    expect(JSON.parse(sent)).toMatchObject({
      components: { schemas: { Pet: { $ref: '#/components/schemas/pet' }, pet: { type: 'object' } } },
    })
    expect(report).toMatch(/pet\.yaml:2:1 {2}error/)
  })

  const unread = { id: 'previous.invalid', level: 'warning', pointer: '', message: 'It cannot be read.' } as const

  it('fail with one sentence if the previous version is no document', async () => {
    await expect(run(['--previous', 'OLD'], { ...RESULT, breakingChanges: [unread] })).rejects.toThrow(
      /old\.yaml: It cannot be read\.$/,
    )
  })

  it.each(['missing.yaml', 'src', '/dev/null'])(
    'fail with one sentence if the previous version is %s',
    async (name) => {
      await expect(run(['--previous', name])).rejects.toThrow(
        /^\S+( is a folder;.*|: there is no such file| is empty)\.$/,
      )
    },
  )
})

describe('SARIF, JUnit and the exit code of validate', () => {
  it.each([
    ['a good document', [], { breakingChanges: [] }],
    ['a low score', ['--min-score', '90'], { breakingChanges: [] }],
    ['a breaking change', [], {}],
  ])('agree on %s', async (_, args, changes) => {
    const result = { ...RESULT, ...changes }
    const sarif = await run([...args, '--format', 'sarif'], result)
    const junit = await run([...args, '--format', 'junit'], result)
    expect(sarif.report.includes('"level": "error"')).toBe(!sarif.isGood)
    expect(junit.report.includes('<failure')).toBe(!junit.isGood)
  })
})

describe('first use: a verdict of validate', () => {
  const clean = { ...RESULT, breakingChanges: [], compliance: { ...RESULT.compliance, band: 'clean' } }
  const breaking = RESULT.breakingChanges[0]!

  it('shows every reason with "not good enough"', async () => {
    const { report } = await run(['--min-score', '90'], {
      ...clean,
      score: 78.2,
      breakingChanges: [breaking, { ...breaking, level: 'warning' }, breaking],
    })
    const [head] = report.split('\n')
    expect(head).toContain(
      '78.2 of 100, clean; asked for 90: not good enough: the score is below 90, 2 breaking changes since the previous version',
    )
  })

  it('shows changes that break nobody, and is good', async () => {
    const added = { id: 'operation.added', level: 'info', pointer: '/paths/~1b/get', message: 'It is new.' } as const
    const { report, isGood } = await run(['--min-score', '0'], { ...clean, changes: [added] } as typeof RESULT)
    expect(report).toMatch(/info +It is new\./)
    expect(isGood).toBe(true)
  })

  it('never rounds a score up to the minimum', async () => {
    const { report, isGood } = await run(['--min-score', '80'], { ...clean, score: 79.96 })
    expect(isGood).toBe(false)
    expect(report).toContain('79.9 of 100, clean; asked for 80: not good enough: the score is below 80')
    expect((await run(['--min-score', '98.7'], { ...clean, score: 98.7 })).report).toContain(
      '98.7 of 100, clean; asked for 98.7: good\n',
    )
  })

  it('fails the JUnit case of the score only because of the score', async () => {
    const { report } = await run(['--format', 'junit'])
    expect(report).toContain('name="score"/>')
    expect(report).toContain('The operation was removed.')
  })
})
