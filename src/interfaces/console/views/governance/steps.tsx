/** The eight steps of a programme, with the errors of the one that failed. */

import type { Answer } from '../../api/operations.ts'
import { Time } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

export type Progress = Answer<'/v1/programmes/:id/progress'>
type Step = Progress['steps'][number]

const words = texts.programmes

export function Steps({ progress: { steps } }: { readonly progress: Progress }) {
  return (
    <ol class="steps">
      {steps.map((step) => (
        <li key={step.number} data-status={step.status}>
          <span aria-hidden="true">{words.signs[step.status]}</span> {words.stepNames[step.name]}{' '}
          <span class="quiet">
            {words.stepStates[step.status]} {step.startedAt !== null && <Time at={step.endedAt ?? step.startedAt} />}
          </span>
          {step.errors.length > 0 && <Errors errors={step.errors} />}
        </li>
      ))}
    </ol>
  )
}

function Errors({ errors }: { readonly errors: Step['errors'] }) {
  return (
    <ul>
      {errors.map(({ pointer, detail, line }) => (
        <li key={`${pointer} ${detail}`}>
          <bdi>{detail}</bdi>{' '}
          <span class="quiet">
            {line !== undefined && words.line(line)} <bdi>{pointer}</bdi>
          </span>
        </li>
      ))}
    </ul>
  )
}
