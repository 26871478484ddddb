/** The programme that published an API, with its progress. */

import { Empty } from '../../parts/states.tsx'
import { texts } from '../../texts.ts'
import { ProgrammeView } from '../governance/programme.tsx'
import type { ApiTabProps } from './api-tab.ts'

export function ApiProgramme({ api: { id, programme } }: ApiTabProps) {
  if (programme !== null) return <ProgrammeView id={programme} />
  return (
    <Empty
      text={texts.programmes.withoutProgramme}
      commands={[`tollgate programmes submit --name ${id} --specification openapi.yaml`]}
    />
  )
}
