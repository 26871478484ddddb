/** Examples at the end of the help of a command. */

import type { Command } from 'commander'

/** A command line, and what it does. */
export type Example = readonly [line: string, meaning: string]

export function addExamples(command: Command, examples: readonly Example[]): void {
  if (examples.length === 0) return
  const lines = examples.map(([line, meaning]) => `  $ ${line}\n      ${meaning}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}
