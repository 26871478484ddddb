/** The examples of `docs/ci.md`, run as pasted in a repository that has a remote. */

// @module-tag git

import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

interface Step {
  readonly run?: string
  readonly 'continue-on-error'?: boolean
}

interface GithubJob {
  readonly env: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

interface GitlabJob {
  readonly variables: Readonly<Record<string, string>>
  readonly script: readonly string[]
}

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/ci.md'), 'utf8')
const EXAMPLE = join(ROOT, 'examples/openapi.yaml')
const AUTHOR = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
/** Steps that fetch this repository and its packages; the test has both. */
const INSTALLS = /^(?:npm ci|git clone) /

let folder: string
let work: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ci-'))
  const origin = join(folder, 'origin')
  mkdirSync(origin)
  git(origin, 'init', '-q', '-b', 'main')
  copyFileSync(EXAMPLE, join(origin, 'openapi.yaml'))
  git(origin, 'add', '.')
  git(origin, ...AUTHOR, 'commit', '-q', '-m', 'First')
  work = join(folder, 'work')
  git(folder, 'clone', '-q', origin, work)
  symlinkSync(ROOT, join(work, '.tollgate'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function git(cwd: string, ...args: readonly string[]): void {
  execFileSync('git', args, { cwd })
}

function exampleOf<T>(heading: string): T {
  const section = PAGE.slice(PAGE.indexOf(`\n## ${heading}\n`))
  return parse(/```yaml\n([^]*?)```/.exec(section)![1]!) as T
}

/** Returns the exit codes of the lines. */
function run(lines: readonly string[], env: Readonly<Record<string, string>>): readonly (number | null)[] {
  const all = { ...PLAIN_ENVIRONMENT, HOME: folder, ...env }
  return lines.map((line) => spawnSync('bash', ['-e', '-c', line], { cwd: work, env: all, stdio: 'ignore' }).status)
}

function breakContract(): void {
  const path = join(work, 'openapi.yaml')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^ {2}\/orders:/m, '  /purchases:'))
}

describe('the GitHub Actions example', () => {
  function runSteps(): readonly (number | null)[] {
    const { env, steps } = exampleOf<{ jobs: { api: GithubJob } }>('GitHub Actions').jobs.api
    const filled = Object.entries(env).map(([name, value]) => [name, value.replace('${{ github.base_ref }}', 'main')])
    const lines = steps.map(({ run: line = '' }) => line).filter((line) => line !== '' && !INSTALLS.test(line))
    return run(lines, { ...Object.fromEntries(filled), GITHUB_STEP_SUMMARY: join(folder, 'summary.md') })
  }

  it('passes if the contract is kept, and fails if it is broken', () => {
    expect(runSteps()).toEqual([0, 0, 0])
    expect(JSON.parse(readFileSync(join(work, 'lint.sarif'), 'utf8'))).toMatchObject({ version: '2.1.0' })
    breakContract()
    expect(runSteps()).toEqual([0, 1, 1])
    expect(readFileSync(join(folder, 'summary.md'), 'utf8')).toContain('The operation was removed.')
  })
})

describe('the GitLab example', () => {
  function runScript(): readonly (number | null)[] {
    const { variables, script } = exampleOf<{ api: GitlabJob }>('GitLab').api
    const lines = script.filter((line) => !INSTALLS.test(line))
    return run(lines, { ...variables, CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main' })
  }

  it('passes if the contract is kept, and fails if it is broken', () => {
    expect(runScript()).toEqual([0, 0, 0])
    breakContract()
    expect(runScript()).toEqual([0, 0, 1])
    expect(readFileSync(join(work, 'breaking.xml'), 'utf8')).toContain('<failure')
  })
})
