/** Shows the console in its page. */

import { render } from 'preact'
import { App } from './shell/app.tsx'
import { followLinks } from './router.ts'
import './style.css'
import './narrow.css'

document.addEventListener('click', followLinks)
render(<App />, document.getElementById('console')!)
