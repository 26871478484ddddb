import { describe, expect, it } from 'vitest'
import { GATE_HELP, readGateSettings } from '../../../../../src/interfaces/cli/gate/gate-settings.ts'

describe('The command line of lint and breaking', () => {
  it('has defaults for everything but the files', () => {
    const common = {
      failSeverity: 'error',
      format: 'text',
      output: null,
      quiet: false,
      ignoreFile: null,
      baseline: null,
      writeBaseline: null,
      root: null,
    }
    expect(readGateSettings('lint', ['a.yaml', '-'])).toEqual({
      command: 'lint',
      files: ['a.yaml', '-'],
      ruleset: null,
      minScore: 0,
      ...common,
    })
    expect(readGateSettings('breaking', ['old', 'new', '--fail-severity', 'off'])).toEqual({
      command: 'breaking',
      previous: 'old',
      next: 'new',
      ruleset: null,
      failOnBreaking: false,
      ...common,
      failSeverity: null,
    })
  })

  it.each([
    ['lint', [], 'Name at least one file.'],
    ['lint', ['a', '--min-score', '101'], '--min-score takes 0 to 100.'],
    ['lint', ['a', '--min-score', ''], '--min-score takes 0 to 100.'],
    ['lint', ['a', '--min-score', 'NaN'], '--min-score takes 0 to 100.'],
    ['lint', ['a', '--format', 'xml'], '--format takes one of text, json, sarif, junit, github, markdown.'],
    ['lint', ['a', '--fail-severity', 'fatal'], '--fail-severity takes one of error, warning, info, off.'],
    ['lint', ['a', '--fast'], "Unknown option '--fast'"],
    ['lint', ['a', '--fail-on-breaking'], "Unknown option '--fail-on-breaking'"],
    ['breaking', ['a'], 'Name two files: the old version and the new one.'],
    ['breaking', ['a', 'b', 'c'], 'Name two files: the old version and the new one.'],
    ['breaking', ['-', '-'], 'Only one of the two files can be standard input.'],
    ['breaking', ['a', 'b', '--min-score', '1'], "Unknown option '--min-score'"],
  ] as const)('refuses %s %j', (command, args, why) => {
    expect(readGateSettings(command, args)).toMatchObject({
      command: 'text',
      isFault: true,
      text: expect.stringContaining(why) as string,
    })
  })

  it('prints its help on request', () => {
    expect(readGateSettings('breaking', ['--help'])).toEqual({ command: 'text', isFault: false, text: GATE_HELP })
  })
})
