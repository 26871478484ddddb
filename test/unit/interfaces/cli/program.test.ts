/** The whole tree of commands: help with examples on every level, suggestions, and exit codes. */

import { describe, expect, it } from 'vitest'
import { SECTIONS } from '../../../../src/interfaces/cli/command-list.ts'
import { runProgram } from '../../../fixtures/run-program.ts'

const run = (...args: readonly string[]) => runProgram(args)

const entries = SECTIONS.flatMap((section) => section.entries)
/** Commands that this process parses; the others read their own arguments. */
const parsed = entries.flatMap((entry) => ('load' in entry ? [entry.name] : []))

const MISUSE = /^tollgate: (?:unknown option '--nonsense'|required option |missing required argument )/

function subcommandsOf(help: string): readonly string[] {
  const [, list = ''] = /\nCommands:\n([^]*?)\n\n/.exec(help) ?? []
  return [...list.matchAll(/^ {2}(\S+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
}

describe('The help', () => {
  it('lists every command, and is the same with help, --help and -h', async () => {
    const { code, out, err } = await run('--help')
    expect([code, err]).toEqual([0, ''])
    for (const { name, summary } of entries)
      expect(out).toMatch(new RegExp(`^  ${name} .*${summary.slice(0, 20)}`, 'm'))
    expect((await run('-h')).out).toBe(out)
    expect((await run('help')).out).toBe(out)
    expect(await run('help', 'apis')).toEqual(await run('apis', '--help'))
  })

  it.each(parsed)('of tollgate %s and of each of its subcommands has examples that call it', async (name) => {
    const { code, out } = await run(name, '--help')
    expect([code, out]).toEqual([0, expect.stringMatching(/\nExamples:\n {2}\$ \S/)])
    for (const sub of subcommandsOf(out)) {
      const help = await run(name, sub, '--help')
      expect([help.code, help.err]).toEqual([0, ''])
      expect(help.out).toMatch(new RegExp(`\nExamples:\n {2}\\$ [^]*tollgate ${name} ${sub}\\b`))
    }
  })
})

describe('Wrong use', () => {
  it('of a command suggests the nearest one, and exits with 2', async () => {
    expect(await run('aps')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Did you mean') })
    expect(await run('help', 'aps')).toMatchObject({ code: 2, out: '' })
    expect(await run('--nonsense')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--nonsense') })
  })

  it.each(parsed)('of tollgate %s exits with 2, with a message on stderr alone', async (name) => {
    const { out } = await run(name, '--help')
    const groups = subcommandsOf(out).map((sub) => [name, sub])
    for (const command of groups.length === 0 ? [[name]] : groups) {
      const wrong = await run(...command, '--nonsense')
      expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(MISUSE) })
    }
    if (groups.length > 0) {
      expect(await run(name)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Usage:') })
      const misspelt = `${groups[0]![1]}x`
      expect(await run(name, misspelt)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining('Did you mean'),
      })
    }
  })

  it.each([
    ['--client-secrett=hunter2'],
    ['login', '--client-secrett=hunter2', 'https://platform.example'],
    ['login', 'https://platform.example', 'hunter2'],
    ['apis', 'list', '--postgres://user:hunter2@db/x'],
    ['apis', 'list', 'a', "hunter2'"],
    ['postgres://user:hunter2@db/x'],
    ['apis', 'postgres://user:hunter2@db/x'],
  ])('repeats no argument that may be a secret: %j %j %j', async (...args) => {
    const { code, err } = await run(...args.filter((each) => each !== undefined))
    expect([code, err]).toEqual([2, expect.stringMatching(/^tollgate: (unknown|too many)/)])
    expect(err).not.toContain('hunter2')
  })

  it('has options for fields whose names every command uses', async () => {
    expect((await run('adrs', 'create', '--help')).out).toMatch(/--context-text <text>[^]*--context <name>/)
  })

  it('without a sign-in exits with 2, and says how to sign in', async () => {
    for (const name of ['apis', 'consumers', 'risks', 'usage', 'audit'])
      for (const sub of subcommandsOf((await run(name, '--help')).out).filter((each) =>
        /^(list|tail|summary)$/.test(each),
      ))
        expect(await run(name, sub)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('tollgate login') })
  })
})
