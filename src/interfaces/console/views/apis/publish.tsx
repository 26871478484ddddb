/** The publication of an API from its document. */

import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'
import { StageForm } from './stage-form.tsx'

export function PublishApi() {
  return (
    <Page title={texts.apis.publish.title}>
      <StageForm api={null} proxy={null} />
    </Page>
  )
}
