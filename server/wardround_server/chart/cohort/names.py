"""Lists from which the cohort's invented people take their names and addresses.

The lists are of common names from many parts of the world; who is called what is left to chance, so
nobody in the chart is anybody.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GIVEN: Final[dict[str, tuple[str, ...]]] = {
    "female": _words(
        """
        Abena Adele Aiko Alma Amina Anahit Anjali Astrid Beatriz Bernadette Bronwyn Camila Carmen Chiara
        Constance Dalia Delphine Dolores Edith Eleni Esperanza Farah Fiona Gloria Greta Hana Harriet
        Ifeoma Ingrid Irina Jolanta Josefina Kalpana Kateryna Keiko Latisha Leilani Lucinda Maeve Malia
        Marisol Meera Nadia Naomi Ngozi Noor Oksana Olivia Parvin Philippa Quyen Rosalind Ruth Saanvi
        Shirin Soledad Tamika Thandi Ursula Valentina Wanjiru Ximena Yasmin Yuki Zainab
        """
    ),
    "male": _words(
        """
        Abdul Alasdair Amadou Anders Aram Arjun Augustin Bao Bartholomew Benedikt Callum Cedric Chidi
        Cornelius Dae-Jung Dimitri Dominic Edgardo Emeka Enrique Esteban Farid Ferdinand Gareth Giorgos
        Gregor Hamid Hideo Horacio Ignacio Isaac Ivo Jamal Joaquin Kaito Kamal Kenji Kwame Lachlan Leopold
        Lorenzo Magnus Malik Marcin Mateo Milan Nikhil Obinna Orlando Osman Percy Rafael Rajesh Roland
        Samir Seamus Stefan Taavi Tariq Terrence Tomasz Umberto Vikram Wendell Winston Yusuf Zoltan
        """
    ),
}

FAMILY: Final[tuple[str, ...]] = _words(
    """
    Abernathy Achterberg Adeyemi Alarcon Andrzejewski Aoki Arslan Baptiste Barzani Bellweather Bergqvist
    Bhattacharya Boateng Bondarenko Brightwater Calloway Castellanos Chaudhary Choi Cisneros Corrigan
    Dalgaard Darko Delacroix Desrosiers Dhillon Dlamini Doherty Drummond Eguchi Ekwueme Escobedo Fairbanks
    Farrokhzad Feldstein Ferreira Fontaine Galloway Garrigan Gebremariam Ghorbani Gunderson Haddad
    Halvorsen Hathaway Hidalgo Holloway Hosseini Ibarra Iwasaki Jankowski Jayawardena Kabore Kaminski
    Karlsson Kaur Keahi Kowalczyk Kuznetsova Lagrange Lefebvre Lindgren Locklear Mahlangu Maldonado
    Manning Matsuda Mbeki McAllister Mensah Middlebrook Montoya Moreau Nakamura Ndlovu Nieminen Novak
    Obradovic Okonkwo Olmstead Ortega Oyelaran Papadakis Pendergrass Petrosyan Phiri Pinnock Quispe
    Rasmussen Redfeather Rosenthal Sandoval Santangelo Sarkissian Siddiqui Silverstone Stavros Szabo
    Takahashi Tesfaye Thornbury Tran Tuilagi Underhill Valdez Vandermeer Vasquez Venkataraman Villanueva
    Wadsworth Weatherby Whitehorse Wierzbicki Winslow Yamashita Yilmaz Zapata Zelaya Zimmerman
    """
)

STREETS: Final[tuple[str, ...]] = _words(
    """
    Alder Aspen Birch Bluebell Briar Cedar Chestnut Clover Cypress Dogwood Elderberry Fern Foxglove
    Hawthorn Hazel Heron Juniper Larch Laurel Linden Magnolia Maple Meadowlark Myrtle Orchard Pinecone
    Poplar Quail Rosemary Sorrel Spruce Sycamore Tamarack Thistle Willow Wren
    """
)
STREET_KINDS: Final = ("Street", "Avenue", "Lane", "Road", "Court", "Drive", "Place")

TOWNS: Final[tuple[tuple[str, str, str, str], ...]] = (
    # town (invented), state, first three digits of the postal code, telephone area code
    ("Alder Falls", "CA", "940", "650"),
    ("Port Amity", "CA", "945", "510"),
    ("San Rosario", "CA", "951", "408"),
    ("Quail Hollow", "CA", "956", "916"),
    ("Cold Harbor Springs", "OR", "973", "503"),
    ("East Larkspur", "OR", "974", "541"),
    ("Juniper Bend", "NV", "895", "775"),
    ("Mesa Encantada", "NM", "871", "505"),
    ("St. Brannoc", "WA", "984", "253"),
    ("Saltmarsh", "WA", "981", "206"),
    ("Two Rivers Crossing", "ID", "837", "208"),
    ("Vermilion Point", "AZ", "850", "602"),
)
