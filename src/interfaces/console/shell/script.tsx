/** The view as a script: the calls that it has made, for the command line and for curl. */

import { toCurl } from '../api/curl.ts'
import { madeCalls } from '../api/script.ts'
import { DialogButton } from '../parts/dialog.tsx'
import { texts } from '../texts.ts'
import { toCommand } from './command-line.ts'

const words = texts.script

export function ScriptButton() {
  return (
    <DialogButton label={words.title} isWide>
      {() => <Script />}
    </DialogButton>
  )
}

function Script() {
  const calls = madeCalls.value
  const commands = calls.flatMap((call) => toCommand(call) ?? [])
  return (
    <>
      <p class="quiet">{words.lead}</p>
      <h3>{words.commandLine}</h3>
      <pre tabIndex={0}>{commands.length === 0 ? words.none : commands.join('\n')}</pre>
      <h3>{words.curl}</h3>
      <pre tabIndex={0}>{calls.length === 0 ? words.none : calls.map(toCurl).join('\n')}</pre>
    </>
  )
}
