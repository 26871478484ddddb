import { Command, Option } from 'commander'
import { describe, expect, it } from 'vitest'
import { candidatesOf } from '../../../../src/interfaces/cli/candidates.ts'

const program = () => {
  const root = new Command('tollgate')
  root.command('apis')
  root.command('approvals')
  return root
}
const load = async (command: Command): Promise<void> => {
  const list = command.command('list')
  list.addOption(new Option('-o, --output <format>').choices(['table', 'json']))
  list.option('--state <value>')
  command.command('get')
}

describe('candidatesOf', () => {
  it.each([
    [[''], ['apis', 'approvals']],
    [['ap'], ['apis', 'approvals']],
    [['api'], ['apis']],
    [
      ['apis', ''],
      ['list', 'get'],
    ],
    [['apis', 'list', '--s'], ['--state']],
    [
      ['apis', 'list', '-o', ''],
      ['table', 'json'],
    ],
    [['apis', 'list', '--output', 'j'], ['json']],
    [['apis', 'list', '--state', ''], []],
    [['none', 'x'], []],
    [[], ['apis', 'approvals']],
  ])('after %j are %j', async (words, candidates) => {
    expect(await candidatesOf(program(), words, load)).toEqual(candidates)
  })
})
