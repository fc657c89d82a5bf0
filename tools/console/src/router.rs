//! The pages by their addresses, and the ports that serve them.

use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};
use axum::{Router, middleware};
use http::header::{ACCEPT, CACHE_CONTROL, VARY};
use http::{HeaderValue, Method};
use nagare_gateway::ports;
use nagare_gateway::ports::{Bounds, Pages};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::address::PATH;
use crate::assets::{ICON, SCRIPT, STYLE, asset};
use crate::console::Console;
use crate::history::{events, tenants};
use crate::inside::{faults, log, plots};
use crate::social::{activity, people, room, show, timeline};
use crate::{audit, commands, guard, home, letters, live, tables};

/// Connections at once, where it has a port to itself.
const BROWSERS: usize = 192;

impl Console {
    pub(crate) fn router(self) -> Router {
        Self::pages(Arc::new(self))
    }

    /// Its pages in front of an API at the same port, whose address leads browsers to them.
    pub fn in_front_of(self, api: Router) -> Router {
        self.router().fallback_service(api).layer(middleware::from_fn(lead_browsers))
    }

    /// Serves it alone until it is told to stop.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        let pages = Pages::default().beside(PATH);
        ports::serve(
            listener,
            self.router_alone(),
            Bounds::with_connections(BROWSERS),
            pages,
            stop,
        )
        .await;
    }

    fn pages(console: Arc<Self>) -> Router {
        let access = Arc::new(console.access.clone());
        Router::new()
            .route(PATH, get(home::view))
            .route("/console/live", get(live::region))
            .route("/console/timeline", get(timeline::view))
            .route("/console/newer", get(timeline::newer))
            .route("/console/people", get(people::choose))
            .route("/console/person", get(people::view))
            .route("/console/bell", get(people::bell))
            .route("/console/look-as", post(people::look_as))
            .route("/console/room", get(room::view))
            .route("/console/said", get(room::said))
            .route("/console/activity", get(activity::view))
            .route("/console/commands", get(commands::view))
            .route("/console/send", post(commands::send))
            .route("/console/command", get(commands::command))
            .route("/console/state", get(commands::state))
            .route("/console/show", get(show::choose))
            .route("/console/poll", get(show::poll))
            .route("/console/battle", get(show::battle))
            .route("/console/standing", get(show::standing))
            .route("/console/events", get(events::view))
            .route("/console/periods", get(events::periods))
            .route("/console/history", get(events::history))
            .route("/console/tenants", get(tenants::choose))
            .route("/console/tenant", get(tenants::view))
            .route("/console/customer", get(tenants::view_customer))
            .route("/console/name", get(tenants::view_name))
            .route("/console/queues", get(letters::view))
            .route("/console/depths", get(letters::now))
            .route("/console/letter", get(letters::letter))
            .route("/console/redrive", post(letters::again))
            .route("/console/drop", post(letters::remove))
            .route("/console/audit", get(audit::view).post(audit::audit))
            .route("/console/repair", post(audit::repair))
            .route("/console/tables", get(tables::view))
            .route("/console/export", post(tables::export))
            .route("/console/log", get(log::view))
            .route("/console/log-lines", get(log::news))
            .route("/console/log/{message}", get(log::story))
            .route("/console/numbers", get(plots::view))
            .route("/console/numbers-now", get(plots::now))
            .route("/console/faults", get(faults::view).post(faults::set))
            .route("/console/console.css", get(asset("text/css; charset=utf-8", STYLE)))
            .route("/console/htmx.js", get(asset("text/javascript; charset=utf-8", SCRIPT)))
            .route("/console/icon.svg", get(asset("image/svg+xml", ICON)))
            .route("/console", get(async || Redirect::permanent(PATH)))
            .route("/console/{*rest}", any(home::nowhere))
            .with_state(console)
            .layer(middleware::from_fn_with_state(access, guard::protect))
    }

    /// The same on a port that has nothing else: what is elsewhere on it is no less closed.
    fn router_alone(self) -> Router {
        let (access, console) = (Arc::new(self.access.clone()), Arc::new(self));
        let nowhere = any(home::nowhere).with_state(Arc::clone(&console));
        let nowhere = nowhere.layer(middleware::from_fn_with_state(access, guard::protect));
        Self::pages(console).fallback_service(nowhere).layer(middleware::from_fn(lead_browsers))
    }
}

/// Leads browsers from the address of a port to its console. Programs, which do not ask for pages, are answered as before.
async fn lead_browsers(request: Request, next: Next) -> Response {
    let wants_page =
        |accept: &HeaderValue| accept.to_str().is_ok_and(|it| it.contains("text/html"));
    let is_browser = request.headers().get_all(ACCEPT).iter().any(wants_page);
    match request.uri().path() {
        "/" if is_browser && matches!(*request.method(), Method::GET | Method::HEAD) => {
            ([(VARY, ACCEPT.as_str()), (CACHE_CONTROL, "no-store")], Redirect::to(PATH))
                .into_response()
        }
        _ => next.run(request).await,
    }
}
