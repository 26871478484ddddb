/** Resource commands by the name of their group, with the commands that call several operations. */

import type { Command } from 'commander'
import type { BuildCommand } from '../command-entry.ts'
import { addSubcommandExamples } from '../help-text.ts'
import { buildGroup } from '../resources/build-resource.ts'
import { GROUPS } from '../resources/resource-groups.ts'
import type { Io } from '../io.ts'
import { addApprovalCommands, addProgrammeCommands } from './decisions.ts'
import { addProxyCommands } from './deployments.ts'
import { addProgrammeWatch, addRequestTail, addRiskTail } from './streams.ts'

const ADDITIONS: ReadonlyMap<string, (command: Command, io: Io) => void> = new Map([
  ['approvals', addApprovalCommands],
  [
    'programmes',
    (command, io) => {
      addProgrammeCommands(command, io)
      addProgrammeWatch(command, io)
    },
  ],
  ['proxies', addProxyCommands],
  ['requests', addRequestTail],
  ['risks', addRiskTail],
])

export function buildResource(name: string): BuildCommand {
  return (command, io) => {
    const group = GROUPS.find((each) => each.name === name)
    if (group === undefined) throw new Error(`there is no group of commands ${name}`)
    buildGroup(command, group, io)
    ADDITIONS.get(name)?.(command, io)
    addSubcommandExamples(command, group.examples)
  }
}
