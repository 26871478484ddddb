/** The facts about an API. */

import { Time } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'

const { facts } = texts.apis

export function Overview({ api: { title, version, retirementDate } }: ApiTabProps) {
  return (
    <dl class="facts">
      <dt>{facts.title}</dt>
      <dd>
        <bdi>{title}</bdi>
      </dd>
      <dt>{facts.version}</dt>
      <dd>
        <bdi>{version}</bdi>
      </dd>
      {retirementDate !== null && (
        <>
          <dt>{facts.retirement}</dt>
          <dd>
            <Time at={retirementDate} />
          </dd>
        </>
      )}
    </dl>
  )
}
