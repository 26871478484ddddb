/** Completion in interactive shells: the Tab key in a pseudo-terminal of bash and zsh, and `complete -C` of fish. */

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'
import { openPseudoTerminal, type PseudoTerminal } from './pseudo-terminal.ts'

const CLEAR_LINE = '\x15'
const SHELLS = [
  {
    program: 'bash',
    tags: ['script'],
    args: ['--norc', '--noprofile', '-i'],
    setUp: 'eval "$(tollgate completion bash)"',
  },
  // The script itself loads the completion system of a zsh that has not.
  { program: 'zsh', tags: ['script', 'zsh'], args: ['-f', '-i'], setUp: 'eval "$(tollgate completion zsh)"' },
]

let folder: string
let env: Record<string, string>
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'completion-'))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'tollgate'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`)
  chmodSync(join(bin, 'tollgate'), 0o755)
  writeFileSync(join(folder, 'openapi.yaml'), '')
  env = {
    ...PLAIN_ENVIRONMENT,
    PATH: `${bin}:${process.env['PATH']}`,
    HOME: folder,
    PS1: '> ',
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Types a line and Tab until the screen shows the pattern; then clears the line. */
async function complete(shell: PseudoTerminal, line: string, pattern: RegExp): Promise<void> {
  shell.type(`${line}\t\t`)
  await shell.match(pattern)
  shell.type(CLEAR_LINE)
}

for (const { program, tags, args, setUp } of SHELLS) {
  describe(`completion in ${program}`, { tags }, () => {
    it('completes commands, subcommands, options, values and files', async () => {
      const shell = openPseudoTerminal([program, ...args], { env })
      onTestFinished(() => shell.close())
      shell.type(`cd '${folder}' && ${setUp} && echo set''up\r`)
      await shell.match(/^setup$/m)
      await complete(shell, 'tollgate ap', /^api +apis +apply +approvals *$/m)
      await complete(shell, 'tollgate apis depr', /tollgate apis deprecate/)
      await complete(shell, 'tollgate proxies deploy --back', /deploy --backend/)
      await complete(shell, 'tollgate risks list -o js', /list -o json/)
      await complete(shell, 'tollgate lint openapi.y', /lint openapi\.yaml/)
      shell.type('exit\r')
      expect(await shell.ended).toMatchObject({ keepsModes: true })
    })
  })
}

describe('completion in fish (needs fish, which .ci/run installs)', { tags: ['fish'] }, () => {
  const candidates = (line: string): readonly string[] => {
    const script = `tollgate completion fish | source; complete -C'${line}'`
    return execFileSync('fish', ['--no-config', '-c', script], { env, cwd: folder, timeout: 60_000 })
      .toString()
      .trimEnd()
      .split('\n')
  }

  it('completes commands, subcommands, options, values and files', () => {
    expect(candidates('tollgate ap')).toEqual(['api', 'apis', 'apply', 'approvals'])
    expect(candidates('tollgate apis depr')).toEqual(['deprecate'])
    expect(candidates('tollgate proxies deploy --back')).toEqual(['--backend'])
    expect(candidates('tollgate risks list -o js')).toEqual(['json'])
    expect(candidates('tollgate lint openapi.y')).toEqual(['openapi.yaml'])
  })
})
